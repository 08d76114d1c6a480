import { describe, expect, it } from "vitest";
import { clip, shortenedMiddle } from "../../src/text/clip.js";
import { pieces, visible, visibleCode, visibleProse } from "../../src/text/visible.js";

describe("foreign text", () => {
  it.each([
    ["plain", "plain"],
    ["a\u202eb", "a<U+202E>b"],
    ["zero\u200bwidth", "zero<U+200B>width"],
    ["\u001b[31mred", "^[[31mred"],
    ["a\u0000b\u007f", "a^@b^?"],
    ["line\u2028sep", "line<U+2028>sep"],
    ["\udce9odd", "\\xE9odd"],
    ["lone \ud800", "lone \\uD800"],
    ["no\u00a0break", "no<U+00A0>break"],
    ["\ufeffbom", "<U+FEFF>bom"],
    ["soft\u00adhyphen", "soft<U+00AD>hyphen"],
    ["tag\u{e0041}", "tag<U+E0041>"],
    ["filler\u3164", "filler<U+3164>"],
    ["中文，空格　在", "中文，空格　在"],
    ["é e\u0301", "é e\u0301"],
    ["👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3", "👩\u200d👩\u200d👧 ❤\ufe0f 1\ufe0f\u20e3"],
    ["ab\u200dcd", "ab<U+200D>cd"],
    ["\u0301mark", "\u25cc\u0301mark"],
    ["עברית", "עברית"],
  ])("%j is seen as %j", (text, seen) => {
    expect(visible(text)).toBe(seen);
  });

  it("says which runs stand for something hidden", () => {
    expect(pieces("a\u202eb")).toEqual([
      { text: "a", mark: false },
      { text: "<U+202E>", mark: true },
      { text: "b", mark: false },
    ]);
  });

  it("keeps the tabs of code, and leaves out the return of a line end", () => {
    expect(visibleCode("\tif x:\r")).toBe("\tif x:");
    expect(visibleCode("a\rb")).toBe("a^Mb");
  });

  it("keeps the lines and the typography of prose", () => {
    expect(visibleProse("one\r\ntwo\u202fthree\n\u202efour")).toBe("one\ntwo three\n<U+202E>four");
  });
});

describe("a clipped text", () => {
  it("is its beginning, and nothing where it is short", () => {
    expect(clip("a\nb", 2, 10)).toBeNull();
    expect(clip("a\nb\nc", 2, 10)).toBe("a\nb");
    expect(clip("abcdef", 2, 3)).toBe("abc");
    expect(clip("ab\u{1f600}", 2, 3)).toBe("ab");
  });
});

describe("a long name", () => {
  it("loses its middle", () => {
    expect(shortenedMiddle("short.py", 20)).toBe("short.py");
    expect(shortenedMiddle(`${"a".repeat(50)}.py`, 11)).toBe("aaaaa…aa.py");
    expect(shortenedMiddle("\u{1f600}".repeat(20), 8)).not.toMatch(/[\ud800-\udbff]…|…[\udc00-\udfff]/);
  });
});
