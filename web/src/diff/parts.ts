/** A large change in parts that can each be drawn at once: what a reader is far from is then not drawn at all. */
import { FULL_LINES } from "../card/change.js";
import type { Change, Hunk } from "../wire/rows.js";

export interface Part {
  change: Change;
  /** The last line of the old and of the new side before this part; 0 at the beginning. */
  before: number;
  after: number;
  /** Nothing of the change comes after it. */
  last: boolean;
  lines: number;
  /** It holds a piece of a hunk that was cut: a line need not stand beside the one that it replaced. */
  cut: boolean;
}

/** Lines that are drawn at once where there are more than a card holds: about what a reader sees at a time, twice. */
const PART_LINES = 120;

export function partsOf(change: Change): Part[] {
  const total = change.hunks.reduce((sum, hunk) => sum + hunk.lines.length, 0);
  const size = total <= FULL_LINES ? FULL_LINES : PART_LINES;
  const parts: Part[] = [];
  let hunks: Hunk[] = [];
  let lines = 0;
  let cut = false;
  let [before, after] = [0, 0];
  let [oldEnd, end] = [0, 0];
  const flush = (): void => {
    if (hunks.length === 0) return;
    parts.push({ change: { ...change, hunks }, before, after, last: false, lines, cut });
    [before, after] = [oldEnd, end];
    hunks = [];
    lines = 0;
    cut = false;
  };
  for (const hunk of change.hunks) {
    const large = hunk.lines.length > size;
    for (const piece of large ? piecesOf(hunk, size) : [hunk]) {
      if (lines + piece.lines.length > size) flush();
      cut ||= large;
      hunks.push(piece);
      lines += piece.lines.length;
      oldEnd = piece.old_start - (piece.old_lines === 0 ? 0 : 1) + piece.old_lines;
      end = piece.new_start - (piece.new_lines === 0 ? 0 : 1) + piece.new_lines;
    }
  }
  flush();
  const last = parts.at(-1);
  if (last !== undefined) last.last = true;
  if (parts.length === 1 && parts[0] !== undefined) parts[0].change = change;
  return parts;
}

/** A hunk that is longer than a part, cut into hunks that say the same. */
function piecesOf(hunk: Hunk, size: number): Hunk[] {
  const pieces: Hunk[] = [];
  let old = hunk.old_start - (hunk.old_lines === 0 ? 0 : 1);
  let now = hunk.new_start - (hunk.new_lines === 0 ? 0 : 1);
  for (let at = 0; at < hunk.lines.length; at += size) {
    const lines = hunk.lines.slice(at, at + size);
    const [removed, added] = [
      lines.filter((line) => line[0] !== "+").length,
      lines.filter((line) => line[0] !== "-").length,
    ];
    pieces.push({
      old_start: removed === 0 ? old : old + 1,
      old_lines: removed,
      new_start: added === 0 ? now : now + 1,
      new_lines: added,
      lines,
    });
    old += removed;
    now += added;
  }
  return pieces;
}

/** Where a reader jumps to: the first line of each run of changed lines. */
export interface Stop {
  part: number;
  side: "added" | "removed";
  line: number;
}

export function stopsOf(parts: readonly Part[]): Stop[] {
  const stops: Stop[] = [];
  let previous = " ";
  let [oldEnd, newEnd] = [-1, -1];
  parts.forEach(({ change }, part) => {
    for (const hunk of change.hunks) {
      let old = hunk.old_start - (hunk.old_lines === 0 ? 0 : 1);
      let now = hunk.new_start - (hunk.new_lines === 0 ? 0 : 1);
      if (old !== oldEnd || now !== newEnd) previous = " "; // else it goes on where the one before was cut
      for (const line of hunk.lines) {
        const sign = line[0] ?? " ";
        if (sign !== "+") old += 1;
        if (sign !== "-") now += 1;
        if (sign !== " " && previous === " ") {
          stops.push(sign === "-" ? { part, side: "removed", line: old } : { part, side: "added", line: now });
        }
        previous = sign;
      }
      [oldEnd, newEnd] = [old, now];
    }
  });
  return stops;
}
