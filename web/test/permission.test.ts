import { describe, expect, it } from "vitest";
import { isAskedAgain } from "../src/permission/changed.js";
import { commandOf, shortOf } from "../src/permission/command.js";
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

describe("a question about a command", () => {
  it("holds the whole command, of which its title is the first line", () => {
    const command = "set -e\nrm -r build";
    expect(commandOf({ card: "terminal", title: command })).toBe(command);
    expect(commandOf({ card: "diff", title: "Edit a.txt" })).toBeNull();
    expect(commandOf(undefined)).toBeNull();
  });

  it("says in one line that there is more of it", () => {
    expect(shortOf("set -e", "set -e\nrm -r build", 160)).toBe("set -e …");
    expect(shortOf("ls", "ls\n", 160)).toBe("ls");
    expect(shortOf("Tidy up\nall of it", null, 160)).toBe("Tidy up …");
    expect(shortOf("Run the tests", "make test\nmake lint", 160)).toBe("Run the tests");
    expect(shortOf("x".repeat(200), null, 10)).toBe(`${"x".repeat(10)} …`);
  });
});
