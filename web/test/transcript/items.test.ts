import { describe, expect, it } from "vitest";
import { collapsedOf, conclusionOf, itemsOf, type Shape } from "../../src/transcript/items.js";

const shape = (id: string, kind = "tool", stays = false, size = 0): Shape => ({ id, kind, stays, size });

describe("the steps of a turn", () => {
  it("fold where two or more calls follow each other", () => {
    const items = itemsOf([
      shape("u", "user", true),
      shape("a"),
      shape("t", "thought"),
      shape("b"),
      shape("x", "agent"),
    ]);
    expect(items).toEqual([
      { kind: "row", id: "u" },
      { kind: "steps", ids: ["a", "t", "b"], calls: 2 },
      { kind: "row", id: "x" },
    ]);
  });

  it("are parted by what must stay", () => {
    const items = itemsOf([shape("a"), shape("b"), shape("card", "tool", true), shape("c"), shape("d")]);
    expect(items.map((item) => item.kind)).toEqual(["steps", "row", "steps"]);
  });

  it("stay as they are where there is one", () => {
    expect(itemsOf([shape("a"), shape("t", "thought")]).map((item) => item.kind)).toEqual(["row", "row"]);
  });
});

describe("a collapsed turn", () => {
  const rows = [
    shape("u", "user", true),
    shape("a"),
    shape("first", "agent", false, 64),
    shape("card", "tool", true),
    shape("ask", "permission", true),
    shape("error", "notice", true),
    shape("last", "agent", false, 64),
    shape("ok", "agent", false, 3),
    shape("end", "turn_end", true),
  ];

  it("keeps the conclusion, and every card, question and error", () => {
    const { items, hidden } = collapsedOf(rows);
    expect(items.map((item) => (item.kind === "row" ? item.id : ""))).toEqual([
      "u",
      "card",
      "ask",
      "error",
      "last",
      "end",
    ]);
    expect(hidden).toBe(3);
  });

  it("takes the last text as its conclusion where none is long", () => {
    expect(conclusionOf([shape("a", "agent", false, 2), shape("b", "agent", false, 3)])).toBe("b");
    expect(conclusionOf([shape("a")])).toBeNull();
  });
});
