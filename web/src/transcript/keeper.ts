/**
 * Keeps the reader's place. Whatever grows or shrinks, what the reader looks at stays where it is: the header that was
 * just clicked, or else the first thing in view; and a reader at the end stays at the end.
 *
 * Browsers anchor by themselves, but not all do, and none knows which header was clicked. A resize is reported after
 * layout and before paint, so a correction made then is never seen as a jump.
 */
import { type Signal, signal } from "@preact/signals";

/**
 * Where there is not enough below to keep the place, room is made under the content, and taken back as the reader moves
 * or more comes.
 *
 * Pixels from the end that still count as the end. */
const NEAR_END = 48;

export class Keeper {
  /** True: the reader is at the end and follows it. */
  readonly following: Signal<boolean> = signal(true);
  readonly #scroller: HTMLElement;
  readonly #room: HTMLElement;
  readonly #observer: ResizeObserver;
  #anchor: { element: Element; top: number } | null = null;
  #pinned = false;

  /** `room`: an empty element under the content. */
  constructor(scroller: HTMLElement, content: HTMLElement, room: HTMLElement) {
    this.#scroller = scroller;
    this.#room = room;
    this.#observer = new ResizeObserver(() => this.settle());
    this.#observer.observe(content);
    this.#observer.observe(scroller);
    scroller.addEventListener("scroll", this.#scrolled, { passive: true });
    scroller.addEventListener("wheel", this.#moved, { passive: true });
    scroller.addEventListener("touchmove", this.#moved, { passive: true });
  }

  /** Holds an element where it is until `release`, such as the header of a card that opens or closes. */
  pin(element: Element): void {
    this.following.value = false;
    this.#anchor = { element, top: this.#top(element) };
    this.#pinned = true;
  }

  /** The movement is over; the reader may be at the end now. */
  release(): void {
    this.settle();
    this.#pinned = false;
    this.#scrolled();
  }

  /** Puts what the reader looks at back in its place. */
  settle(): void {
    const { scrollTop, clientHeight } = this.#scroller;
    if (this.following.peek()) {
      const end = this.#height() - clientHeight;
      if (this.#room.offsetHeight > 0 && end <= scrollTop) this.#setRoom(scrollTop - end);
      else this.toEnd();
      return;
    }
    const anchor = this.#anchor;
    if (anchor === null || !anchor.element.isConnected) return;
    const moved = this.#top(anchor.element) - anchor.top;
    if (Math.abs(moved) < 1) return;
    const missing = scrollTop + moved - (this.#height() - clientHeight);
    if (missing > this.#room.offsetHeight) this.#setRoom(missing);
    this.#scroller.scrollTop = scrollTop + moved;
  }

  toEnd(): void {
    this.following.value = true;
    this.#pinned = false;
    this.#setRoom(0);
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  dispose(): void {
    this.#observer.disconnect();
    this.#scroller.removeEventListener("scroll", this.#scrolled);
    this.#scroller.removeEventListener("wheel", this.#moved);
    this.#scroller.removeEventListener("touchmove", this.#moved);
  }

  /** The reader moves: whatever was pinned is not what they look at any more. */
  readonly #moved = (): void => {
    this.#pinned = false;
  };

  readonly #scrolled = (): void => {
    if (this.#pinned) return;
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    const below = scrollHeight - scrollTop - clientHeight;
    const room = this.#room.offsetHeight;
    if (room > 0 && below > 0) this.#setRoom(Math.max(0, room - below));
    this.following.value = this.#height() - scrollTop - clientHeight <= NEAR_END;
    this.#anchor = this.#firstInView();
  };

  /** Of all that there is to read, without the room under it. */
  #height(): number {
    return this.#scroller.scrollHeight - this.#room.offsetHeight;
  }

  #setRoom(height: number): void {
    this.#room.style.height = `${Math.max(0, Math.ceil(height))}px`;
  }

  #top(element: Element): number {
    return element.getBoundingClientRect().top - this.#scroller.getBoundingClientRect().top;
  }

  /** The first thing whose beginning is in view, or else what reaches into it from above. */
  #firstInView(): { element: Element; top: number } | null {
    const box = this.#scroller.getBoundingClientRect();
    const x = box.left + box.width / 2;
    let reaching: Element | null = null;
    for (let y = box.top + 2; y < box.bottom; y += 24) {
      const hit = document.elementFromPoint(x, y)?.closest("[data-anchor],[data-row]");
      if (hit === null || hit === undefined || !this.#scroller.contains(hit)) continue;
      if (hit.getBoundingClientRect().top >= box.top - 1) return { element: hit, top: this.#top(hit) };
      reaching ??= hit;
    }
    return reaching === null ? null : { element: reaching, top: this.#top(reaching) };
  }
}
