import { describe, expect, it } from "vitest";
import {
  countsOf,
  countsOfTotal,
  diffstat,
  factsOf,
  fileForm,
  isTooLongToColour,
  sumOf,
} from "../../src/card/change.js";
import type { NetTotal } from "../../src/wire/rows.js";
import { change, hunk, side } from "../changes.js";

describe("the form of a file", () => {
  it("is whole up to and including 400 diff lines", () => {
    expect(fileForm(change({ diff_lines: 400 }))).toBe("full");
    expect(fileForm(change({ diff_lines: 401 }))).toBe("summary");
  });

  it("is a summary where hunks were cut or left out, however few are there", () => {
    expect(fileForm(change({ truncated: true }))).toBe("summary");
    expect(fileForm(change({ hunks_omitted: true }))).toBe("summary");
  });
});

describe("counts", () => {
  it("are those of the record", () => {
    expect(countsOf(change())).toEqual({ removed: 1, added: 2, bound: "" });
  });

  it("are about, where the change was too large to compare", () => {
    expect(countsOf(change({ exact: false }))?.bound).toBe("≈");
  });

  it("are at least, where whoever counted saw a part", () => {
    expect(countsOf(change({ truncated: true, at_least: true }))?.bound).toBe("≥");
    expect(countsOf(change({ truncated: true, added: 9_000 }))).toEqual({ removed: 1, added: 9_000, bound: "" });
  });

  it("are none where there are no lines to count", () => {
    expect(countsOf(change({ file_type: "binary" }))).toBeNull();
    expect(countsOf(change({ file_type: "unknown" }))).toBeNull();
  });

  it("add up, and a bound among them makes the sum a bound", () => {
    expect(sumOf([countsOf(change()), countsOf(change({ exact: false }))])).toEqual({
      removed: 2,
      added: 4,
      bound: "≈",
    });
    expect(sumOf([countsOf(change()), null])).toEqual({ removed: 1, added: 2, bound: "≥" });
    expect(sumOf([null])).toBeNull();
  });

  it("of a turn whose beginning is missing are at least", () => {
    const total = {
      path: "/w/a",
      name: "a",
      old_path: null,
      old_name: null,
      operation: "modify",
      file_type: "text",
      added: 1,
      removed: 0,
      exact: true,
      counted: true,
      facts: [],
    } satisfies NetTotal;
    expect(countsOfTotal(total, true)?.bound).toBe("≥");
    expect(countsOfTotal({ ...total, counted: false }, false)).toBeNull();
  });
});

describe("the five cells", () => {
  it.each([
    [1, 1, "added removed none none none"],
    [0, 900, "removed removed removed removed removed"],
    [900, 1, "added added added added removed"],
    [1, 900, "added removed removed removed removed"],
    [2, 0, "added added none none none"],
  ])("share out +%i −%i", (added, removed, cells) => {
    expect(diffstat({ added, removed, bound: "" }).join(" ")).toBe(cells);
  });
});

describe("facts", () => {
  it("name what no line shows", () => {
    const emptied = change({
      after: side({ size: 0 }),
      provenance: "reported",
      redacted: true,
      facts: ["bom_removed"],
    });
    expect(factsOf(emptied)).toEqual(["bom_removed", "emptied", "redacted", "reported"]);
  });
});

describe("what is too long for the viewer", () => {
  it("is one enormous line, or very much text", () => {
    expect(isTooLongToColour(change())).toBe(false);
    expect(isTooLongToColour(change({ hunks: [hunk([`+${"x".repeat(2_000_000)}`])] }))).toBe(true);
    expect(
      isTooLongToColour(change({ hunks: [hunk(Array.from({ length: 400 }, () => `+${"x".repeat(3_000)}`))] })),
    ).toBe(true);
  });
});
