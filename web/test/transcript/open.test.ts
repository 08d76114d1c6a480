// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { OpenSession } from "../../src/sessions/open.js";
import { agent } from "../changes.js";

/** Pages of a session of ten rows, three to a page, as the server cuts them. */
let answers: Record<string, unknown> = {};
let asked: string[] = [];

beforeEach(() => {
  localStorage.clear();
  asked = [];
  answers = {
    "api/sessions/s1/rows?limit=60": {
      session: "s1",
      rows: [agent("c", "c", { seq: 7, revision: 7 })],
      before: 7,
      seq: 9,
    },
    "api/sessions/s1/rows?before=7&limit=60": {
      session: "s1",
      rows: [agent("a", "a", { seq: 2, revision: 2 })],
      before: null,
      seq: 9,
    },
    "api/sessions/s1": { session: "s1", running: false, seq: 9 },
  };
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(url);
    const body = answers[url];
    return body === undefined
      ? new Response(JSON.stringify({ code: "NO_SESSION", message: "none", remedy: "" }), { status: 404 })
      : new Response(JSON.stringify(body));
  });
});

afterEach(() => vi.unstubAllGlobals());

function rows(session: OpenSession): string[] {
  return session.book.rows().map((row) => row.id);
}

describe("an open session", () => {
  it("begins at its end, follows from there, and goes back page by page", async () => {
    const followed: number[] = [];
    const session = new OpenSession("s1", (loaded) => followed.push(loaded.cursor()));
    await session.load();
    expect(rows(session)).toEqual(["c"]);
    expect(followed).toEqual([9]);
    await session.loadEarlier();
    expect(rows(session)).toEqual(["a", "c"]);
    expect(session.before.value).toBeNull();
  });

  it("knows how far it has been told, so that a reconnection misses nothing", async () => {
    const session = new OpenSession("s1", () => {});
    await session.load();
    session.take([{ type: "rows", data: { session: "s1", rows: [agent("d", "d", { seq: 12, revision: 14 })] } }]);
    expect(session.cursor()).toBe(14);
    expect(rows(session)).toEqual(["c", "d"]);
  });

  it("puts text after the row that it goes on from", async () => {
    const session = new OpenSession("s1", () => {});
    await session.load();
    const text = (more: string) =>
      ({
        type: "text",
        data: { session: "s1", row: "d", turn: 1, kind: "agent", text: more, replace: false },
      }) as const;
    session.take([
      text("old"),
      { type: "rows", data: { session: "s1", rows: [agent("d", "committed", { seq: 12, revision: 12 })] } },
      text(" and more"),
    ]);
    expect(session.book.row("d")?.value).toMatchObject({ text: "committed and more" });
  });

  it("loads its rows anew when told that they may be stale, and follows from the new ones", async () => {
    const followed: number[] = [];
    const session = new OpenSession("s1", (loaded) => followed.push(loaded.cursor()));
    await session.load();
    answers["api/sessions/s1/rows?limit=60"] = {
      session: "s1",
      rows: [agent("z", "z", { seq: 30, revision: 30 })],
      before: null,
      seq: 31,
    };
    session.take([{ type: "reset", data: { session: "s1", problem: null } }]);
    await vi.waitFor(() => expect(followed).toEqual([9, 31]));
    expect(rows(session)).toEqual(["z"]);
  });

  it("says what went wrong, and follows nothing that it does not have", async () => {
    answers = {};
    const followed: number[] = [];
    const session = new OpenSession("s1", (loaded) => followed.push(loaded.cursor()));
    await session.load();
    expect(session.problem.value).toMatchObject({ code: "NO_SESSION" });
    expect(followed).toEqual([]);
  });
});
