import { describe, expect, it } from "vitest";
import { blocksOf, definitionsOf } from "../../src/markdown/blocks.js";

const sources = (text: string): string[] => blocksOf(text).map((block) => block.source.trim());

describe("the blocks of a text", () => {
  it("end at blank lines", () => {
    expect(sources("a\nb\n\nc\n\n\n# d")).toEqual(["a\nb", "c", "# d"]);
    expect(blocksOf("a\n\nb").map((block) => block.line)).toEqual([0, 2]);
  });

  it("do not end inside a fence, whatever stands in it", () => {
    expect(sources("```py\na\n\n~~~\n\nb\n```\n\nc")).toEqual(["```py\na\n\n~~~\n\nb\n```", "c"]);
    expect(sources("````\n```\n\n```\n````\n\nx")).toEqual(["````\n```\n\n```\n````", "x"]);
    expect(sources("```\nnever closed\n\nstill inside")).toHaveLength(1);
  });

  it("do not end inside a list or a quote", () => {
    expect(sources("- a\n\n- b\n\n  c\n\nd")).toEqual(["- a\n\n- b\n\n  c", "d"]);
    expect(sources("> a\n\n> b\n\nc")).toEqual(["> a\n\n> b", "c"]);
  });

  it("keep those that are written already the same while more is written", () => {
    const text = "one\n\n```\ncode\n\nmore\n```\n\n- a\n- b\n\nlast words";
    const whole = sources(text);
    for (let end = 1; end <= text.length; end += 1) {
      const part = sources(text.slice(0, end));
      expect(part.slice(0, -1)).toEqual(whole.slice(0, part.length - 1));
    }
  });

  it("share their link definitions", () => {
    expect(definitionsOf("see [x]\n\n[x]: https://a.example\n")).toBe("[x]: https://a.example");
  });
});
