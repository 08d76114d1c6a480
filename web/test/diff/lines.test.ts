import { describe, expect, it } from "vitest";
import { codeOf, linesOfChange } from "../../src/diff/lines.js";
import { changedPiece, PIECE, shortened } from "../../src/diff/long.js";
import { change, hunk } from "../changes.js";

describe("lines", () => {
  it("have the numbers of their side", () => {
    const numbers = linesOfChange(change({ hunks: [hunk([" a", "-b", "+c", "+d"], 10, 20)] }));
    expect(numbers.slice(1).map((line) => [line.oldNumber, line.newNumber])).toEqual([
      [10, 20],
      [11, null],
      [null, 21],
      [null, 22],
    ]);
  });

  it("have none where the place is unknown", () => {
    const lines = linesOfChange(change({ anchored: false }));
    expect(lines.every((line) => line.oldNumber === null && line.newNumber === null)).toBe(true);
  });

  it("that begin with further signs are lines", () => {
    const lines = linesOfChange(change({ hunks: [hunk(["--- x", "+++ y"])] }));
    expect(lines.map((line) => [line.kind, line.text])).toEqual([
      ["removed", "-- x"],
      ["added", "++ y"],
    ]);
  });
});

describe("code without signs", () => {
  it("is the new side, or of a deletion what was there", () => {
    expect(codeOf(change())).toBe("a\nc\nd\n");
    expect(codeOf(change({ operation: "delete", hunks: [hunk(["-a", "-b"])] }))).toBe("a\nb\n");
  });
});

describe("a line that is too long to draw", () => {
  it("is told by the piece that changed", () => {
    const line = "x".repeat(1_000_000);
    const piece = changedPiece(`${line}1${line}`, `${line}22${line}`);
    expect(piece).toMatchObject({ head: 1_000_000, tail: 1_000_000, beforeLength: 1, afterLength: 2 });
    expect(piece.before).toContain("x1x");
    expect(piece.after).toContain("x22x");
    expect(piece.after.length).toBeLessThanOrEqual(PIECE + 3);
  });

  it("is shortened between characters, not inside one", () => {
    const face = "\u{1f600}".repeat(500);
    expect(shortened(face)).not.toMatch(/(^|[^\ud800-\udbff])[\udc00-\udfff]|[\ud800-\udbff]($|[^\udc00-\udfff])/);
  });
});
