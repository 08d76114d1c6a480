/**
 * One stream for all windows of this page in one browser. A browser opens few connections to one server, for all of its
 * windows together; so one of those that are in view, the leader, holds the stream for all, and hands on what comes.
 *
 * Who leads is settled by a lock of the browser's, which passes on by itself when its holder is gone. What is handed on
 * may come twice or late, at a change of leaders; that does no harm, as with a stream that comes back. Where a browser
 * has no locks (a page that is not of this machine and came without TLS), each window has a stream of its own.
 */
import { type Signal, signal } from "@preact/signals";
import { Connection, type Cursor, type Link, type StreamEvent } from "./connection.js";
import { Frame } from "./frame.js";

const LOCK = "redline-stream";
const CHANNEL = "redline-stream";
/** A window that is hidden so long leaves the stream to others, and asks for nothing. */
const HIDDEN_REST = 10_000;
/** A window that follows asks so often whether the leader is there, and waits so long for its answer. */
const ASK = 15_000;
const PATIENCE = 5_000;
/** A window of which nothing was heard for so long is gone. */
const FORGOTTEN = 4 * ASK;

type Wanted = [session: string, after: number][];

/** What windows say to each other. */
type Message =
  /** A follower says what it looks at; `fresh`: sessions of which it lacks what came after the number. */
  | { say: "want"; tab: string; sessions: string[]; fresh: Wanted }
  | { say: "gone"; tab: string }
  | { say: "retry" }
  /** The leader's words. `new`: it has just begun to lead. */
  | { say: "link"; link: Link; isNew: boolean }
  | { say: "events"; events: StreamEvent[] };

export class SharedConnection {
  readonly link: Signal<Link> = signal("connecting");
  readonly #own = new Map<string, Cursor>();
  readonly #tab = crypto.randomUUID?.() ?? String(Math.random());
  readonly #frame: Frame<StreamEvent>;
  readonly #take: (events: StreamEvent[]) => void;
  readonly #open: (url: string) => EventSource;
  /** Null: this browser cannot settle who leads, so every window does for itself. */
  readonly #channel: BroadcastChannel | null =
    (navigator.locks as LockManager | null | undefined) && "BroadcastChannel" in globalThis
      ? new BroadcastChannel(CHANNEL)
      : null;
  /** While this window leads. */
  #stream: Connection | null = null;
  readonly #wanted = new Map<string, { sessions: readonly string[]; heard: number }>();
  /** Up to which event everything of a session was handed on. */
  readonly #handed = new Map<string, number>();
  #ending: AbortController | null = null;
  #asking: ReturnType<typeof setInterval> | undefined;
  #waiting: ReturnType<typeof setTimeout> | undefined;

  constructor(
    take: (events: StreamEvent[]) => void,
    open: (url: string) => EventSource = (url) => new EventSource(url),
  ) {
    this.#take = take;
    this.#frame = new Frame(take);
    this.#open = open;
  }

  start(): void {
    this.#channel?.addEventListener("message", (event: MessageEvent<Message>) => this.#hear(event.data));
    this.#join();
    addEventListener("online", () => this.again());
    addEventListener("pagehide", () => this.#leave());
    addEventListener("pageshow", () => this.again());
    let rest: ReturnType<typeof setTimeout> | undefined;
    document.addEventListener("visibilitychange", () => {
      clearTimeout(rest);
      if (document.hidden) rest = setTimeout(() => this.#leave(), HIDDEN_REST);
      else this.again();
    });
  }

  /** Connects at once, instead of when the wait is over. */
  again(): void {
    if (this.#ending === null) this.#join();
    else if (this.#stream !== null) this.#stream.again();
    else if (this.link.peek() === "lost") this.#say({ say: "retry" });
  }

  subscribe(session: string, cursor: Cursor): void {
    this.#own.set(session, cursor);
    if (this.#stream === null) this.#want([[session, cursor()]]);
    else this.#look([[session, cursor()]]);
  }

  unsubscribe(session: string): void {
    this.#own.delete(session);
    if (this.#stream === null) this.#want([]);
    else this.#look([]);
  }

  // Coming and going.

  #join(): void {
    const ending = new AbortController();
    this.#ending = ending;
    if (this.#channel === null) {
      this.#lead();
      return;
    }
    this.link.value = "connecting";
    this.#want([...this.#own].map(([session, cursor]) => [session, cursor()]));
    this.#queue(ending, {});
    this.#asking = setInterval(() => {
      if (this.#stream === null) this.#want([]);
    }, ASK);
  }

  /** Waits for the lock, leads while it is held. `steal`: its holder does not answer. */
  #queue(ending: AbortController, options: { steal?: boolean }): void {
    const held = navigator.locks.request(
      LOCK,
      // The two exclude each other.
      options.steal ? { steal: true } : { signal: ending.signal },
      () =>
        new Promise<void>((done) => {
          if (ending.signal.aborted || this.#stream !== null) {
            done();
            return;
          }
          ending.signal.addEventListener("abort", () => done(), { once: true });
          this.#lead();
        }),
    );
    held.catch(() => {
      // Given up, or taken away by a window that thought this one was dead.
      if (ending.signal.aborted || this.#ending !== ending) return;
      this.#step();
      this.#queue(ending, {});
    });
  }

  #lead(): void {
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
    this.#handed.clear();
    this.#stream = new Connection((events) => this.#hand(events), this.#open);
    let before: Link = "connecting";
    this.#stream.link.subscribe((link) => {
      this.link.value = link;
      // After a gap each window says itself what it has.
      this.#say({ say: "link", link, isNew: link === "open" && before !== "connecting" });
      before = link;
    });
    this.#look([...this.#own].map(([session, cursor]) => [session, cursor()]));
    this.#stream.connect();
    this.#say({ say: "link", link: this.link.peek(), isNew: true });
  }

  /** Leads no more. */
  #step(): void {
    this.#stream?.close();
    this.#stream = null;
    this.#wanted.clear();
    this.#want([...this.#own].map(([session, cursor]) => [session, cursor()]));
  }

  #leave(): void {
    if (this.#ending === null) return;
    clearInterval(this.#asking);
    clearTimeout(this.#waiting);
    this.#waiting = undefined;
    this.#stream?.close();
    this.#stream = null;
    this.#wanted.clear();
    this.#say({ say: "gone", tab: this.#tab });
    this.#ending.abort();
    this.#ending = null;
    if (this.link.peek() === "open") this.link.value = "resting";
  }

  // As the leader.

  #hand(events: StreamEvent[]): void {
    for (const event of events) {
      if (event.type !== "rows") continue;
      for (const row of event.data.rows) {
        const known = this.#handed.get(event.data.session);
        if (known !== undefined) this.#handed.set(event.data.session, Math.max(known, row.revision));
      }
    }
    this.#say({ say: "events", events });
    this.#take(events);
  }

  /** Makes the stream one about what all windows look at; `fresh`: from where some need it again. */
  #look(fresh: Wanted): void {
    const stream = this.#stream;
    if (stream === null) return;
    for (const [tab, { heard }] of this.#wanted) if (Date.now() - heard > FORGOTTEN) this.#wanted.delete(tab);
    const all = new Set([...this.#own.keys(), ...[...this.#wanted.values()].flatMap(({ sessions }) => sessions)]);
    for (const session of [...this.#handed.keys()]) {
      if (all.has(session)) continue;
      this.#handed.delete(session);
      stream.unsubscribe(session);
    }
    for (const [session, after] of fresh) {
      if (!all.has(session)) continue;
      this.#handed.set(session, after);
      stream.subscribe(session, () => this.#handed.get(session) ?? after);
    }
  }

  // Between windows.

  #want(fresh: Wanted): void {
    if (this.#ending === null || this.#channel === null) return;
    this.#say({ say: "want", tab: this.#tab, sessions: [...this.#own.keys()], fresh });
    this.#waiting ??= setTimeout(() => {
      this.#waiting = undefined;
      const ending = this.#ending;
      // Its holder may have been stopped with the lock in its hands, by a debugger or a dialog.
      if (ending !== null && this.#stream === null) this.#queue(ending, { steal: true });
    }, PATIENCE);
  }

  #say(message: Message): void {
    this.#channel?.postMessage(message);
  }

  #hear(message: Message): void {
    switch (message.say) {
      case "want":
        if (this.#stream === null) return;
        this.#wanted.set(message.tab, { sessions: message.sessions, heard: Date.now() });
        this.#look(message.fresh);
        this.#say({ say: "link", link: this.link.peek(), isNew: false });
        return;
      case "gone":
        this.#wanted.delete(message.tab);
        this.#look([]);
        return;
      case "retry":
        this.#stream?.again();
        return;
      case "link":
        if (this.#stream !== null || this.#ending === null) return;
        clearTimeout(this.#waiting);
        this.#waiting = undefined;
        this.link.value = message.link;
        if (message.isNew) this.#want([...this.#own].map(([session, cursor]) => [session, cursor()]));
        return;
      case "events":
        if (this.#stream !== null || this.#ending === null) return;
        for (const event of message.events) this.#frame.add(event);
    }
  }
}
