import { describe, expect, it } from "vitest";
import { linesOfChange } from "../../src/diff/lines.js";
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
