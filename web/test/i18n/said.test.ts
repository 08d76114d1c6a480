// @vitest-environment happy-dom
import { describe, expect, it } from "vitest";
import { en } from "../../src/i18n/en.js";
import { said } from "../../src/i18n/said.js";
import { zh } from "../../src/i18n/zh.js";

describe("what the server says", () => {
  it("is said in the reader's language, with what it is about", () => {
    expect(said("A turn is running.", zh.sentences)).toBe("一个回合正在运行。");
    expect(said("/w/a (1).py is not there any more.", zh.sentences)).toBe("/w/a (1).py 已不存在。");
    expect(said("/a: b: the change has no hunk 9; the last one is 3.", zh.sentences)).toBe(
      "/a: b：此修改没有第 9 处；最后一处是第 3 处。",
    );
    expect(said("a\nb does not exist.", zh.sentences)).toBe("a\nb 不存在。");
  });

  it("stays what it is where nobody has put it into words, and as data", () => {
    expect(said("Something new", zh.sentences)).toBeNull();
    expect(said("constructor", zh.sentences)).toBeNull();
    expect(said("", zh.sentences)).toBeNull();
    expect(said("Read it again.", zh.sentences), "no title of a call").toBeNull();
    expect(said("Read src/a.py (lines 2 to 9)", zh.titles)).toBe("读取 src/a.py（第 2 至 9 行）");
    expect(said("Search a in b: 3 matches in 1 file", zh.titles)).toBe("搜索 a in b：1 个文件中有 3 处");
    expect(said("{1} is not there any more.", zh.sentences)).toBe("{1} 已不存在。");
    expect(said("$& is not there any more.", zh.sentences)).toBe("$& 已不存在。");
  });

  it("uses each thing that a sentence is about, and no other", () => {
    for (const [sentence, translation] of Object.entries({ ...zh.sentences, ...en.sentences })) {
      const holes = sentence.split("{}").length - 1;
      const used = [...translation.matchAll(/\{(\d)\}/g)].map((match) => Number(match[1]));
      for (const at of used) expect(at, sentence).toBeLessThanOrEqual(holes);
    }
  });

  it("is the page's own advice, not a terminal's", () => {
    expect(said("List them with: redline sessions", en.sentences)).not.toContain("redline sessions");
  });
});
