/** The lines of a change one by one, with their numbers: for the table that needs no viewer. */
import type { Change } from "../wire/rows.js";

export interface DiffLine {
  kind: "context" | "removed" | "added" | "gap";
  /** Null on the side that does not have the line, and where the place is unknown. */
  oldNumber: number | null;
  newNumber: number | null;
  text: string;
  /** Of a gap: unchanged lines that are not shown. */
  skipped: number;
}

/** `after`: the last line of the new side before these hunks, where they are a part of a larger change. */
export function linesOfChange(change: Change, after = 0): DiffLine[] {
  const lines: DiffLine[] = [];
  const numbered = change.anchored;
  let end = after + 1;
  for (const hunk of change.hunks) {
    let [old, now] = [
      hunk.old_lines === 0 ? hunk.old_start + 1 : hunk.old_start,
      hunk.new_start + Number(hunk.new_lines === 0),
    ];
    const skipped = numbered ? now - end : 0;
    if (skipped > 0 || (!numbered && lines.length > 0)) {
      lines.push({ kind: "gap", oldNumber: null, newNumber: null, text: "", skipped: Math.max(skipped, 0) });
    }
    for (const line of hunk.lines) {
      const sign = line[0];
      lines.push({
        kind: sign === "-" ? "removed" : sign === "+" ? "added" : "context",
        oldNumber: numbered && sign !== "+" ? old : null,
        newNumber: numbered && sign !== "-" ? now : null,
        text: line.slice(1),
        skipped: 0,
      });
      if (sign !== "+") old += 1;
      if (sign !== "-") now += 1;
    }
    end = now;
  }
  return lines;
}

/** The new side of the hunks without signs: what a person wants to paste. Of a deletion: what was there. */
export function codeOf(change: Change): string {
  const wanted = change.operation === "delete" ? ["-", " "] : ["+", " "];
  const parts = change.hunks.map((hunk) =>
    hunk.lines
      .filter((line) => wanted.includes(line[0] ?? ""))
      .map((line) => line.slice(1))
      .join("\n"),
  );
  return parts.map((part) => `${part}\n`).join("");
}
