// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Connection, type StreamEvent } from "../../src/stream/connection.js";

/** As much of an `EventSource` as the connection uses: named events with data, an error, and `close`. */
class Source extends EventTarget {
  readonly url: string;
  closed = false;

  constructor(url: string) {
    super();
    this.url = url;
  }

  close(): void {
    this.closed = true;
  }

  say(type: string, data: unknown): void {
    this.dispatchEvent(new MessageEvent(type, { data: JSON.stringify(data) }));
  }
}

const sources: Source[] = [];
const posted: string[] = [];
let denied = false;

function connect(take: (events: StreamEvent[]) => void = () => {}): Connection {
  const connection = new Connection(take, (url) => {
    const source = new Source(url);
    sources.push(source);
    return source as unknown as EventSource;
  });
  connection.connect();
  return connection;
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "requestAnimationFrame"] });
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    if (init.method === "POST") posted.push(`${url} ${String(init.body)}`);
    if (denied && url === "api/folders") return new Response('{"code":"TOKEN","message":"no"}', { status: 401 });
    return new Response("{}");
  });
});

afterEach(() => {
  sources.length = 0;
  posted.length = 0;
  denied = false;
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe("the stream", () => {
  it("asks, each time it comes back, for what comes after what the page has", async () => {
    const connection = connect();
    let seq = 5;
    connection.subscribe("s1", () => seq);
    sources[0]?.say("hello", { stream: "one" });
    await vi.advanceTimersByTimeAsync(0);
    expect(posted).toEqual(['api/stream/one {"subscribe":[{"session":"s1","after":5}],"unsubscribe":[]}']);
    seq = 9;
    sources[0]?.dispatchEvent(new Event("error"));
    expect(connection.link.value).toBe("lost");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sources).toHaveLength(2);
    expect(decodeURIComponent(sources[1]?.url ?? "")).toContain("sessions=s1:9");
    sources[1]?.say("hello", { stream: "two" });
    expect(connection.link.value).toBe("open");
    expect(posted).toHaveLength(1);
  });

  it("waits longer each time that nobody answers, and at once tries when asked", async () => {
    const connection = connect();
    for (let failure = 0; failure < 8; failure += 1) {
      sources.at(-1)?.dispatchEvent(new Event("error"));
      await vi.advanceTimersByTimeAsync(13_000);
    }
    expect(sources).toHaveLength(9);
    sources.at(-1)?.dispatchEvent(new Event("error"));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sources).toHaveLength(9);
    connection.again();
    expect(sources).toHaveLength(10);
  });

  it("hears nothing more of a stream that it has given up", async () => {
    const seen: StreamEvent[] = [];
    connect((events) => seen.push(...events));
    const [first] = sources;
    first?.dispatchEvent(new Event("error"));
    await vi.advanceTimersByTimeAsync(1_000);
    first?.say("rows", { session: "s1", rows: [] });
    sources[1]?.say("rows", { session: "s1", rows: [] });
    await vi.advanceTimersByTimeAsync(300);
    expect(first?.closed).toBe(true);
    expect(seen).toHaveLength(1);
  });

  it("says so where it has no access any more, and goes on trying", async () => {
    const connection = connect();
    denied = true;
    sources[0]?.dispatchEvent(new Event("error"));
    await vi.advanceTimersByTimeAsync(10);
    expect(connection.link.value).toBe("denied");
    await vi.advanceTimersByTimeAsync(1_000);
    sources[1]?.say("hello", { stream: "again" });
    expect(connection.link.value).toBe("open");
  });
});
