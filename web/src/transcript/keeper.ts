/**
 * Keeps the reader's place. Whatever grows or shrinks, what the reader looks at stays where it is: the header that was
 * just clicked, or else the first thing in view; and a reader at the end stays at the end.
 *
 * Browsers anchor by themselves, but not all do, and none knows which header was clicked. A resize is reported after
 * layout and before paint, so a correction made then is never seen as a jump.
 */
import { type Signal, signal } from "@preact/signals";

/** Pixels from the end that still count as the end. */
const NEAR_END = 48;

export class Keeper {
  /** True: the reader is at the end and follows it. */
  readonly following: Signal<boolean> = signal(true);
  readonly #scroller: HTMLElement;
  readonly #observer: ResizeObserver;
  #anchor: { element: Element; top: number } | null = null;
  #pinned = false;

  constructor(scroller: HTMLElement, content: HTMLElement) {
    this.#scroller = scroller;
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
    if (this.following.peek()) {
      this.#scroller.scrollTop = this.#scroller.scrollHeight;
      return;
    }
    const anchor = this.#anchor;
    if (anchor === null || !anchor.element.isConnected) return;
    const moved = this.#top(anchor.element) - anchor.top;
    if (Math.abs(moved) >= 1) this.#scroller.scrollTop += moved;
  }

  toEnd(): void {
    this.following.value = true;
    this.#pinned = false;
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
    const { scrollTop, scrollHeight, clientHeight } = this.#scroller;
    if (this.#pinned) return;
    this.following.value = scrollHeight - scrollTop - clientHeight <= NEAR_END;
    this.#anchor = this.#firstInView();
  };

  #top(element: Element): number {
    return element.getBoundingClientRect().top - this.#scroller.getBoundingClientRect().top;
  }

  /** The first row that reaches into view; of a row that begins above, its card's part that does. */
  #firstInView(): { element: Element; top: number } | null {
    const box = this.#scroller.getBoundingClientRect();
    const x = box.left + box.width / 2;
    for (let y = box.top + 2; y < box.bottom; y += 24) {
      const hit = document.elementFromPoint(x, y)?.closest("[data-row],[data-file],[data-anchor]");
      if (hit !== null && hit !== undefined && this.#scroller.contains(hit)) {
        return { element: hit, top: this.#top(hit) };
      }
    }
    return null;
  }
}
