/**
 * The one stream of this page, or of several windows of it (`shared.ts`). It carries every session that is open here, says when it is lost, and comes back by
 * itself: each time with what the page has of each session, so that nothing is missed, and nothing that comes twice does
 * any harm.
 */
import { type Signal, signal } from "@preact/signals";
import { address, api, Refused } from "../wire/api.js";
import type { StreamHello, StreamReset, StreamRows, StreamSessions, StreamState, StreamText } from "../wire/rows.js";
import { Frame } from "./frame.js";

/** `resting`: given up on purpose, while nobody looks. */
export type Link = "connecting" | "open" | "resting" | "lost" | "denied";

export type StreamEvent =
  | { type: "rows"; data: StreamRows }
  | { type: "text"; data: StreamText }
  | { type: "state"; data: StreamState }
  | { type: "sessions"; data: StreamSessions }
  | { type: "reset"; data: StreamReset };

/** What the page has of a session when it (again) asks for what comes after. */
export type Cursor = () => number;

const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;

export class Connection {
  readonly link: Signal<Link> = signal("connecting");
  readonly #cursors = new Map<string, Cursor>();
  readonly #frame: Frame<StreamEvent>;
  readonly #open: (url: string) => EventSource;
  #source: EventSource | null = null;
  #stream: string | null = null;
  /** Sessions that the stream was opened with. */
  #asked = new Set<string>();
  #wait = FIRST_WAIT;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(
    take: (events: StreamEvent[]) => void,
    open: (url: string) => EventSource = (url) => new EventSource(url),
  ) {
    this.#frame = new Frame(take);
    this.#open = open;
  }

  /** Connects at once, instead of when the wait is over. */
  again(): void {
    if (this.link.peek() === "open" || this.link.peek() === "connecting") return;
    this.#wait = FIRST_WAIT;
    this.connect();
  }

  subscribe(session: string, cursor: Cursor): void {
    this.#cursors.set(session, cursor);
    this.#tell({ subscribe: [{ session, after: cursor() }], unsubscribe: [] });
  }

  unsubscribe(session: string): void {
    this.#cursors.delete(session);
    this.#tell({ subscribe: [], unsubscribe: [session] });
  }

  connect(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#stream = null;
    const sessions = [...this.#cursors].map(([session, cursor]) => `${session}:${cursor()}`).join(",");
    const source = this.#open(address("stream", { listing: "true", sessions }));
    this.#asked = new Set(this.#cursors.keys());
    this.#source = source;
    source.addEventListener("hello", (event) => this.#hello(JSON.parse(event.data) as StreamHello));
    for (const type of ["rows", "text", "state", "sessions", "reset"] as const) {
      source.addEventListener(type, (event) => {
        if (source === this.#source) this.#frame.add({ type, data: JSON.parse(event.data) } as StreamEvent);
      });
    }
    source.addEventListener("error", () => {
      if (source === this.#source) this.#lost();
    });
  }

  #hello(hello: StreamHello): void {
    this.#stream = hello.stream;
    this.#wait = FIRST_WAIT;
    this.link.value = "open";
    // What was opened or left while the stream was being opened.
    const subscribe = [...this.#cursors]
      .filter(([session]) => !this.#asked.has(session))
      .map(([session, cursor]) => ({ session, after: cursor() }));
    const unsubscribe = [...this.#asked].filter((session) => !this.#cursors.has(session));
    if (subscribe.length + unsubscribe.length > 0) this.#tell({ subscribe, unsubscribe });
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
    this.#stream = null;
  }

  /** Not left to the browser: after an answer other than a stream it would never try again. */
  #lost(): void {
    this.#source?.close();
    this.#source = null;
    this.#stream = null;
    if (this.link.peek() !== "denied") this.link.value = "lost";
    this.#askWhy();
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.connect(), this.#wait * (0.75 + Math.random() / 2));
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }

  /** A stream does not say why it failed; another request does. */
  #askWhy(): void {
    api.folders().catch((error: unknown) => {
      if (error instanceof Refused && error.status === 401 && this.link.peek() !== "open") this.link.value = "denied";
    });
  }

  #tell(subscriptions: { subscribe: { session: string; after: number }[]; unsubscribe: string[] }): void {
    const stream = this.#stream;
    if (stream === null) return; // the next hello tells all of it
    api.subscribe(stream, subscriptions).catch(() => {
      if (this.#stream === stream) this.#lost();
    });
  }
}
