import { describe, expect, it } from "vitest";
import { linesOfChange } from "../../src/diff/lines.js";
import { metadataOf } from "../../src/diff/metadata.js";
import { partsOf, stopsOf } from "../../src/diff/parts.js";
import { change, hunk } from "../changes.js";

describe("the parts of a large change", () => {
  const large = change({
    hunks: [
      hunk(
        Array.from({ length: 10_000 }, (_, at) => `+row ${at + 1}`),
        0,
        1,
      ),
    ],
  });

  it("say together what the change says, with the same numbers", () => {
    const parts = partsOf(large);
    expect(parts).toHaveLength(84);
    expect(parts.every((part) => part.lines <= 120)).toBe(true);
    const rows = parts.flatMap((part) => linesOfChange(part.change, part.after));
    expect(rows).toEqual(linesOfChange(large));
  });

  it("are one and the change itself where it is small", () => {
    const small = change();
    expect(partsOf(small).map((part) => part.change)).toEqual([small]);
    expect(partsOf(small)[0]?.change).toBe(small);
  });

  it("are known for pieces of a hunk where one was cut, in which lines stand beside others than they replaced", () => {
    const block = ["-old", "+new"].flatMap((line) => Array.from({ length: 2_200 }, (_, at) => `${line} ${at}`));
    const small = hunk([...Array(50).fill("-x"), ...Array(50).fill("+y")], 9_000);
    const parts = partsOf(change({ hunks: [hunk(block), small] }));
    expect(parts.filter((part) => !part.cut).map((part) => part.change.hunks)).toEqual([[small]]);
    expect(partsOf(change()).some((part) => part.cut)).toBe(false);
  });

  it("keep the number of lines between hunks over their border", () => {
    const hunks = [
      hunk(
        Array.from({ length: 300 }, () => " x"),
        1,
      ),
      hunk(
        Array.from({ length: 300 }, () => "-y"),
        500,
      ),
    ];
    const parts = partsOf(change({ hunks }));
    const second = parts.find((part) => part.after === 300);
    expect(linesOfChange(second?.change ?? change(), 300)[0]).toMatchObject({ kind: "gap", skipped: 200 });
    expect(parts.flatMap((part) => linesOfChange(part.change, part.after))).toEqual(linesOfChange(change({ hunks })));
  });

  it("have what is between their hunks where both texts are known", () => {
    const old = Array.from({ length: 3_000 }, (_, at) => `line ${at + 1}`);
    const now = old.flatMap((line, at) => (at % 20 === 9 ? [`${line} new`, "more"] : at % 600 === 35 ? [] : [line]));
    const hunks = [];
    let [removed, added] = [0, 0];
    for (let at = 0; at < old.length; at += 1) {
      if (at % 20 === 9) {
        hunks.push(hunk([` ${old[at - 1]}`, `-${old[at]}`, `+${old[at]} new`, "+more"], at, at + added - removed));
        added += 1;
      } else if (at % 600 === 35) {
        hunks.push(hunk([` ${old[at - 1]}`, `-${old[at]}`], at, at + added - removed));
        removed += 1;
      }
    }
    const sides = { before: `${old.join("\n")}\n`, after: `${now.join("\n")}\n` };
    const parts = partsOf(change({ hunks }));
    expect(parts.length).toBeGreaterThan(3);
    const seen: string[] = [];
    for (const part of parts) {
      const data = metadataOf(part.change, sides, part);
      expect(data.isPartial).toBe(false);
      let next = 0;
      for (const one of data.hunks) {
        expect(one.additionLineIndex - one.collapsedBefore, "what is skipped follows what was shown").toBe(next);
        expect(one.additionStart - one.additionLineIndex, "numbers are those of the file").toBe(part.after + 1);
        expect(one.deletionStart - one.deletionLineIndex).toBe(part.before + 1);
        next = one.additionLineIndex + one.additionCount;
      }
      seen.push(...data.additionLines);
    }
    expect(seen, "each line once, to the end of the file").toEqual(now.map((line) => `${line}\n`));
  });

  it("offer one stop for each run of changed lines", () => {
    const edited = change({ hunks: [hunk([" a", "-b", "+c", " d", "+e"]), hunk(["-x", " y"], 40)] });
    expect(stopsOf(partsOf(edited))).toEqual([
      { part: 0, side: "removed", line: 2 },
      { part: 0, side: "added", line: 4 },
      { part: 0, side: "removed", line: 40 },
    ]);
    expect(stopsOf(partsOf(large))).toHaveLength(1);
  });
});
