import { describe, expect, it } from "vitest";
import { cardOfFound, cardOfUndo, cardsOf, mustStay, standingIn } from "../../src/card/form.js";
import type { FoundRow } from "../../src/wire/rows.js";
import { change, permission, tool } from "../changes.js";

describe("what an undo took back", () => {
  const found = (paths: string[], reverted: string[]): FoundRow => ({
    kind: "found",
    id: "found:1",
    turn: 1,
    seq: 1,
    revision: 1,
    at: 0,
    during: [],
    changes: paths.map((path) => change({ path, provenance: "observed" })),
    reverted_paths: reverted,
  });

  it.each([
    [[], ["applied", "applied"], "applied"],
    [["/w/b"], ["applied", "reverted"], "partial"],
    [["/w/a", "/w/b"], ["reverted", "reverted"], "reverted"],
  ] as const)("looks undone on a card of what was found: %j", (reverted, each, whole) => {
    const plan = cardOfFound(found(["/w/a", "/w/b"], [...reverted]));
    expect(plan.changes.map((one) => standingIn(plan, one))).toEqual(each);
    expect(plan.standing).toBe(whole);
  });

  it("may be an undo", () => {
    const { during: _, reverted_paths: __, ...head } = found(["/w/a"], []);
    const row = { ...head, kind: "revert" as const, call: "u", of: [], reverted: true };
    expect(cardOfUndo(row).standing).toBe("reverted");
  });
});

describe("the cards of a call", () => {
  it("come from the record's changes, whatever the call is called", () => {
    const mislabelled = tool({ name: "read", tool_kind: "read", status: "applied", changes: [change()] });
    expect(cardsOf(mislabelled).map((card) => card.standing)).toEqual(["applied"]);
  });

  it("are none for text that looks like a diff", () => {
    const shell = tool({ tool_kind: "edit", card: "terminal", output: "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n" });
    expect(cardsOf(shell)).toEqual([]);
  });

  it.each(["failed", "rejected", "cancelled", "interrupted", "unknown", "proposed", "running"] as const)(
    "say that a %s proposal is not applied",
    (status) => {
      const [card] = cardsOf(tool({ status, proposed: [change({ provenance: "proposed" })] }));
      expect(card?.standing).toBe(status);
      expect(card?.changes).toHaveLength(1);
    },
  );

  it("show what a failed call left on disk apart from what it did not do", () => {
    const row = tool({
      status: "failed",
      changes: [change({ path: "/w/a.py" })],
      proposed: [change({ path: "/w/a.py" }), change({ path: "/w/b.py" })],
    });
    expect(cardsOf(row).map((card) => [card.standing, card.changes.map((one) => one.path)])).toEqual([
      ["landed", ["/w/a.py"]],
      ["failed", ["/w/b.py"]],
    ]);
  });

  it("do not repeat a proposal that was carried out", () => {
    const row = tool({ status: "applied", changes: [change()], proposed: [change()] });
    expect(cardsOf(row)).toHaveLength(1);
  });

  it("say so where a call ended well and its proposal is not on disk", () => {
    expect(cardsOf(tool({ status: "completed", proposed: [change()] }))[0]?.standing).toBe("failed");
  });

  it("hold several files in one card, and know which of them were taken back", () => {
    const row = tool({
      status: "applied",
      changes: [change({ path: "/w/a" }), change({ path: "/w/b" })],
      reverted_paths: ["/w/b"],
    });
    const [card] = cardsOf(row);
    expect(card?.changes).toHaveLength(2);
    expect([...(card?.reverted ?? [])]).toEqual(["/w/b"]);
    expect(card?.standing).toBe("partial");
    expect(cardsOf({ ...row, reverted: true })[0]?.standing).toBe("reverted");
  });

  it("say of a change whose hunks were taken back one by one that a part is undone, until all of it is", () => {
    const hunk = { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, lines: ["-a", "+b"] };
    const row = tool({
      status: "applied",
      changes: [change({ path: "/w/a", hunks: [hunk, { ...hunk, old_start: 9, new_start: 9 }] })],
      reverted_hunks: [{ path: "/w/a", hunk: 2 }],
    });
    const [card] = cardsOf(row);
    expect(card?.standing).toBe("partial");
    expect(card?.hunks.get("/w/a")).toEqual([2]);
    const both = [...row.reverted_hunks, { path: "/w/a", hunk: 1 }];
    expect(cardsOf({ ...row, reverted_hunks: both })[0]?.standing).toBe("reverted");
  });
});

describe("what no fold may hide", () => {
  it("is a change, a proposal, an error, a question, a warning and what has not ended", () => {
    expect(mustStay(tool())).toBe(false);
    expect(mustStay(tool({ status: "applied", changes: [change()] }))).toBe(true);
    expect(mustStay(tool({ status: "rejected", proposed: [change()] }))).toBe(true);
    expect(mustStay(tool({ error: { code: "IO", message: "no", remedy: "", lines: [] } }))).toBe(true);
    expect(mustStay(tool({ permission: "asked" }))).toBe(true);
    expect(mustStay(tool({ warnings: ["odd"] }))).toBe(true);
    expect(mustStay(tool({ status: "running" }))).toBe(true);
    expect(mustStay(permission())).toBe(true);
  });
});
