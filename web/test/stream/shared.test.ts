// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { StreamEvent } from "../../src/stream/connection.js";
import { SharedConnection } from "../../src/stream/shared.js";

/** As much of an `EventSource` as the connection uses: named events with data, an error, and `close`. */
class Source extends EventTarget {
  closed = false;
  constructor(readonly url: string) {
    super();
    sources.push(this);
  }
  close(): void {
    this.closed = true;
  }
  say(type: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
  }
}

/** The browser's: one holder at a time, the others wait in their order; whoever steals it ends the holder's promise. */
class Locks {
  #holder: { lose: (why: unknown) => void } | null = null;
  #waiting: (() => void)[] = [];

  request(
    _name: string,
    options: { signal?: AbortSignal; steal?: boolean },
    work: () => Promise<void>,
  ): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const hold = (): void => {
        if (options.signal?.aborted) {
          this.#next();
          return;
        }
        const own = { lose: reject };
        this.#holder = own;
        void work().then((value) => {
          resolve(value);
          if (this.#holder === own) this.#next();
        });
      };
      if (options.steal) {
        this.#holder?.lose(new DOMException("stolen", "AbortError"));
        hold();
      } else if (this.#holder === null) hold();
      else {
        this.#waiting.push(hold);
        options.signal?.addEventListener("abort", () => reject(options.signal?.reason));
      }
    });
  }

  #next(): void {
    this.#holder = null;
    this.#waiting.shift()?.();
  }
}

class Channel extends EventTarget {
  static all: Channel[] = [];
  deaf = false;
  constructor() {
    super();
    Channel.all.push(this);
  }
  postMessage(data: unknown): void {
    if (this.deaf) return;
    for (const other of Channel.all.filter((one) => one !== this && !one.deaf)) {
      queueMicrotask(() => other.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }
  }
}

let sources: Source[] = [];
const posted: string[] = [];
const open = (): Source[] => sources.filter((source) => !source.closed);
const soon = (): Promise<unknown> => vi.advanceTimersByTimeAsync(300);

class Tab {
  readonly seen: StreamEvent[] = [];
  readonly connection = new SharedConnection(
    (events) => this.seen.push(...events),
    (url) => new Source(url) as unknown as EventSource,
  );
  readonly channel: Channel | undefined;
  constructor(session: string, seq: number) {
    this.channel = Channel.all.at(-1);
    this.connection.start();
    this.connection.subscribe(session, () => seq);
  }
}

function rows(session: string, revision: number): unknown {
  return { session, rows: [{ id: "r", revision }] };
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("BroadcastChannel", Channel);
  Object.defineProperty(navigator, "locks", { value: new Locks(), configurable: true });
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    if (init.method === "POST") posted.push(`${url} ${String(init.body)}`);
    return new Response("{}");
  });
});

afterEach(() => {
  sources = [];
  posted.length = 0;
  Channel.all = [];
  Reflect.deleteProperty(navigator, "locks");
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("windows of one browser", () => {
  it("share one stream, which is about what all of them look at", async () => {
    const tabs = [new Tab("a", 1), new Tab("a", 4), new Tab("b", 7)];
    await soon();
    expect(open()).toHaveLength(1);
    sources[0]?.say("hello", { stream: "one" });
    await soon();
    const asked = decodeURIComponent(sources[0]?.url ?? "") + posted.join();
    expect(asked).toContain('"session":"b","after":7');
    sources[0]?.say("rows", rows("a", 9));
    sources[0]?.say("rows", rows("b", 9));
    await soon();
    for (const tab of tabs) {
      expect(tab.connection.link.value).toBe("open");
      expect(tab.seen.map((event) => event.type)).toEqual(["rows", "rows"]);
    }
  });

  it("go on where they were when another one has to lead", async () => {
    const [first, second] = [new Tab("a", 1), new Tab("a", 1)];
    sources[0]?.say("hello", { stream: "one" });
    await soon();
    expect(second.seen).toEqual([]);
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    await vi.advanceTimersByTimeAsync(9_000);
    expect(open()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(open(), "nobody looks any more").toHaveLength(0);
    expect(first.connection.link.value).toBe("resting");
    Object.defineProperty(document, "hidden", { value: false, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    await soon();
    expect(open()).toHaveLength(1);
    open()[0]?.say("hello", { stream: "two" });
    open()[0]?.say("rows", rows("a", 2));
    await soon();
    expect(first.seen.at(-1)).toMatchObject({ type: "rows" });
    expect(second.seen.at(-1)).toMatchObject({ type: "rows" });
  });

  it("do not wait for one that holds the stream and does not answer", async () => {
    const first = new Tab("a", 1);
    sources[0]?.say("hello", { stream: "one" });
    await soon();
    const channel = Channel.all[0];
    if (channel !== undefined) channel.deaf = true;
    const second = new Tab("a", 5);
    await vi.advanceTimersByTimeAsync(6_000);
    const own = open().find((source) => source.url.includes("5"));
    own?.say("hello", { stream: "two" });
    await soon();
    expect(second.connection.link.value).toBe("open");
    expect(sources[0]?.closed, "the one that was thought dead has stepped back").toBe(true);
    expect(first.connection.link.value).not.toBe("denied");
  });

  it("tell each other that the server is gone, and any of them can try again", async () => {
    const [first, second] = [new Tab("a", 1), new Tab("a", 1)];
    sources[0]?.say("hello", { stream: "one" });
    await soon();
    sources[0]?.dispatchEvent(new Event("error"));
    await vi.advanceTimersByTimeAsync(1);
    expect(first.connection.link.value).toBe("lost");
    expect(second.connection.link.value).toBe("lost");
    const before = sources.length;
    second.connection.again();
    await vi.advanceTimersByTimeAsync(1);
    expect(sources).toHaveLength(before + 1);
  });

  it("each have their own where the browser has no locks", async () => {
    Reflect.deleteProperty(navigator, "locks");
    const tabs = [new Tab("a", 1), new Tab("b", 1)];
    await soon();
    expect(open()).toHaveLength(tabs.length);
  });
});
