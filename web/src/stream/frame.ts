/** Work gathered until the next frame, so that a burst of events costs one drawing. */

/** A hidden page draws no frames; there the work waits this long. */
const HIDDEN_WAIT = 250;

export class Frame<T> {
  #waiting: T[] = [];
  #scheduled = false;
  readonly #work: (items: T[]) => void;
  readonly #schedule: (run: () => void) => void;

  constructor(work: (items: T[]) => void, schedule: (run: () => void) => void = nextFrame) {
    this.#work = work;
    this.#schedule = schedule;
  }

  add(item: T): void {
    this.#waiting.push(item);
    if (this.#scheduled) return;
    this.#scheduled = true;
    this.#schedule(() => this.flush());
  }

  flush(): void {
    this.#scheduled = false;
    const items = this.#waiting;
    this.#waiting = [];
    if (items.length > 0) this.#work(items);
  }
}

/** The next frame, or soon where none may come: a page can be hidden between asking for a frame and getting it. */
export function nextFrame(run: () => void): void {
  let done = false;
  const once = (): void => {
    if (done) return;
    done = true;
    run();
  };
  if (!document.hidden) requestAnimationFrame(once);
  setTimeout(once, HIDDEN_WAIT);
}
