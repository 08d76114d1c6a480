import { describe, expect, it } from "vitest";
import { isAskedAgain } from "../src/permission/changed.js";
import { Book } from "../src/transcript/book.js";
import { change, permission, side } from "./changes.js";

const blob = (letter: string) => side({ blob: letter.repeat(40) });
const first = permission({ id: "p1", seq: 3, outcome: "allow_once", changes: [change({ before: blob("a") })] });

describe("a call that asks twice", () => {
  it("asks again because a file that was allowed is another one now", () => {
    const second = permission({ id: "p2", seq: 6, changes: [change({ before: blob("b") })] });
    expect(isAskedAgain(first, second)).toBe(true);
    expect(isAskedAgain(second, first)).toBe(false);
    expect(isAskedAgain({ ...first, outcome: "reject" }, second)).toBe(false);
  });

  it("is not said to do so where nothing shows it", () => {
    expect(isAskedAgain(first, permission({ id: "p2", seq: 6, changes: first.changes }))).toBe(false);
    expect(isAskedAgain(first, permission({ id: "p2", seq: 6, changes: [change({ path: "/w/other" })] }))).toBe(false);
    expect(isAskedAgain(first, first)).toBe(false);
  });

  it("has its questions on the page, in their order", () => {
    const book = new Book();
    book.upsert([permission({ id: "p2", seq: 6 }), first, permission({ id: "p3", seq: 4, turn: 2 })]);
    expect(book.questionsOf(1, "t1").map((row) => row.id)).toEqual(["p1", "p2"]);
    book.clear();
    expect(book.questionsOf(1, "t1")).toEqual([]);
  });
});
