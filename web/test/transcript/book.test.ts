import { effect } from "@preact/signals";
import { describe, expect, it } from "vitest";
import { Book } from "../../src/transcript/book.js";
import type { Row } from "../../src/wire/rows.js";
import { agent, change, tool } from "../changes.js";

function ids(book: Book): string[][] {
  return book.sections.value.map((section) => [...section.ids.value]);
}

describe("the rows on a page", () => {
  it("stand in the order of their first event, in turns", () => {
    const book = new Book();
    book.upsert([agent("c", "", { seq: 9, turn: 2 }), agent("a", "", { seq: 1 }), agent("b", "", { seq: 5 })]);
    expect(ids(book)).toEqual([["a", "b"], ["c"]]);
  });

  it("are not doubled by a reconnection that sends them again", () => {
    const book = new Book();
    const rows = [agent("a", "one"), agent("b", "two", { seq: 2 })];
    book.upsert(rows);
    book.upsert(rows);
    expect(ids(book)).toEqual([["a", "b"]]);
    expect(book.appended.value).toBe(2);
  });

  it("say of a turn that it was undone where all of it was, and its beginning is here", () => {
    const prompt = { ...agent("u", "Go."), kind: "user", attachments: [] } as unknown as Row;
    const done = tool({ seq: 2, status: "applied", changes: [change()], reverted: true });
    const book = new Book();
    book.upsert([done]);
    expect(book.isUndone(1)).toBe(false);
    book.upsert([prompt]);
    expect(book.isUndone(1)).toBe(true);
    book.upsert([tool({ id: "tool:1:t2", call: "t2", seq: 3, status: "applied", changes: [change()] })]);
    expect(book.isUndone(1)).toBe(false);
  });

  it("never go back to an earlier revision", () => {
    const book = new Book();
    book.upsert([tool({ revision: 7, status: "applied", changes: [change()] })]);
    book.upsert([tool({ revision: 3, status: "running" })]);
    expect(book.row("tool:1:t1")?.value).toMatchObject({ status: "applied" });
  });

  it("show text that is being written, and then the row that was committed", () => {
    const book = new Book();
    const delta = { row: "a", turn: 1, kind: "agent", replace: false } as const;
    book.write([
      { ...delta, text: "Hel" },
      { ...delta, text: "lo" },
    ]);
    expect(book.row("a")?.value).toMatchObject({ text: "Hello" });
    book.upsert([agent("a", "Hello, you", { seq: 4, revision: 4 })]);
    book.write([{ ...delta, text: "!" }]);
    expect(book.row("a")?.value).toMatchObject({ text: "Hello, you!" });
    book.write([{ ...delta, text: "All of it.", replace: true }]);
    expect(book.row("a")?.value).toMatchObject({ text: "All of it." });
    expect(ids(book)).toEqual([["a"]]);
  });

  it("leave the list of a turn alone when only a row's text changes", () => {
    const book = new Book();
    book.upsert([agent("a", "one")]);
    let drawn = 0;
    const stop = effect(() => {
      book.shapes(book.sections.value[0]?.ids.value ?? []);
      drawn += 1;
    });
    for (let at = 0; at < 50; at += 1)
      book.upsert([agent("a", `${"long enough to conclude with ".repeat(4)}${at}`, { revision: 2 + at })]);
    stop();
    expect(drawn).toBe(2);
  });

  it("let go of the oldest where there are very many, and know where to load them again", () => {
    const book = new Book();
    book.upsert(Array.from({ length: 1_500 }, (_, at) => agent(`r${at}`, "", { seq: at + 1 })));
    expect(book.trim()).toBe(true);
    expect(book.size).toBe(600);
    expect(book.oldest).toBe(901);
    expect(book.trim()).toBe(false);
  });

  it("keep what belongs to no turn where it happened", () => {
    const book = new Book();
    book.upsert([agent("a", "", { seq: 1 }), agent("n", "", { seq: 2, turn: 0 }), agent("b", "", { seq: 3 })]);
    expect(ids(book)).toEqual([["a", "n", "b"]]);
  });
});
