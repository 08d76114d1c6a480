/** A change in the shape that the viewer draws. Nothing is compared here: the hunks are the record's. */
import type { FileDiffMetadata } from "@pierre/diffs";
import { visible, visibleCode } from "../text/visible.js";
import type { Change, Hunk } from "../wire/rows.js";

/** The whole text of both sides, where it is known: then the lines between hunks can be shown, too. */
export interface Sides {
  before: string;
  after: string;
}

type ViewerHunk = FileDiffMetadata["hunks"][number];

/** Where a change stands that is a part of a larger one: the last lines of both sides before it, and whether it ends it. */
export interface Place {
  before: number;
  after: number;
  last: boolean;
}

const WHOLE: Place = { before: 0, after: 0, last: true };

export function metadataOf(change: Change, sides: Sides | null, place: Place = WHOLE): FileDiffMetadata {
  const whole = sides === null ? null : wholeLines(change, sides, place);
  const data: FileDiffMetadata = {
    name: visible(change.name),
    type: typeOf(change),
    hunks: [],
    splitLineCount: 0,
    unifiedLineCount: 0,
    isPartial: whole === null,
    deletionLines: whole?.before ?? [],
    additionLines: whole?.after ?? [],
    deletionCharacterCount: 0,
    additionCharacterCount: 0,
  };
  if (change.old_path !== null) data.prevName = visible(change.old_name ?? change.old_path);
  let end = place.after;
  for (const hunk of change.hunks) {
    const shown = viewerHunk(hunk, data, whole === null ? null : place);
    shown.collapsedBefore = !change.anchored ? 0 : Math.max(firstLine(hunk) - end, 0);
    shown.splitLineStart = data.splitLineCount + shown.collapsedBefore;
    shown.unifiedLineStart = data.unifiedLineCount + shown.collapsedBefore;
    data.splitLineCount += shown.collapsedBefore + shown.splitLineCount;
    data.unifiedLineCount += shown.collapsedBefore + shown.unifiedLineCount;
    data.hunks.push(shown);
    end = firstLine(hunk) + hunk.new_lines;
  }
  if (whole !== null && data.hunks.length > 0) {
    const rest = Math.max(place.after + whole.after.length - end, 0);
    data.splitLineCount += rest;
    data.unifiedLineCount += rest;
  }
  markFinalNewline(change, data);
  data.deletionCharacterCount = characters(data.deletionLines);
  data.additionCharacterCount = characters(data.additionLines);
  return data;
}

function typeOf(change: Change): FileDiffMetadata["type"] {
  switch (change.operation) {
    case "add":
      return "new";
    case "delete":
      return "deleted";
    case "move":
      return change.hunks.length > 0 ? "rename-changed" : "rename-pure";
    default:
      return "change";
  }
}

/** Lines of the new side before the hunk. A side without lines starts at the line before the place. */
function firstLine(hunk: Hunk): number {
  return hunk.new_start - (hunk.new_lines === 0 ? 0 : 1);
}

/** Without a place in the whole text, the hunk's own lines are appended to those of the file. */
function viewerHunk(hunk: Hunk, data: FileDiffMetadata, place: Place | null): ViewerHunk {
  const whole = place !== null;
  let removed = whole ? Math.max(hunk.old_start - 1 - place.before, 0) : data.deletionLines.length;
  let added = whole ? Math.max(hunk.new_start - 1 - place.after, 0) : data.additionLines.length;
  const shown: ViewerHunk = {
    collapsedBefore: 0,
    additionStart: hunk.new_start,
    additionCount: hunk.new_lines,
    additionLines: 0,
    additionLineIndex: added,
    deletionStart: hunk.old_start,
    deletionCount: hunk.old_lines,
    deletionLines: 0,
    deletionLineIndex: removed,
    hunkContent: [],
    splitLineStart: 0,
    splitLineCount: 0,
    unifiedLineStart: 0,
    unifiedLineCount: 0,
    noEOFCRDeletions: false,
    noEOFCRAdditions: false,
  };
  for (const line of hunk.lines) {
    const sign = line[0];
    let block = shown.hunkContent.at(-1);
    if (sign === " ") {
      if (block?.type !== "context") {
        block = { type: "context", lines: 0, additionLineIndex: added, deletionLineIndex: removed };
        shown.hunkContent.push(block);
      }
      block.lines += 1;
    } else {
      if (block?.type !== "change") {
        block = { type: "change", deletions: 0, additions: 0, additionLineIndex: added, deletionLineIndex: removed };
        shown.hunkContent.push(block);
      }
      if (sign === "-") block.deletions += 1;
      else block.additions += 1;
    }
    const text = `${visibleCode(line.slice(1))}\n`;
    if (sign !== "+") {
      removed += 1;
      if (!whole) data.deletionLines.push(text);
    }
    if (sign !== "-") {
      added += 1;
      if (!whole) data.additionLines.push(text);
    }
    if (sign === "-") shown.deletionLines += 1;
    if (sign === "+") shown.additionLines += 1;
  }
  for (const block of shown.hunkContent) {
    const [split, unified] =
      block.type === "context"
        ? [block.lines, block.lines]
        : [Math.max(block.additions, block.deletions), block.additions + block.deletions];
    shown.splitLineCount += split;
    shown.unifiedLineCount += unified;
  }
  return shown;
}

/** Both texts as lines, once for all parts of a change. */
const split = new WeakMap<Sides, { before: string[]; after: string[] }>();

/**
 * The lines from a place on, to the end of the last hunk or of the text. Null unless both texts hold exactly the lines
 * that the hunks say: else something is masked, or another text.
 */
function wholeLines(change: Change, sides: Sides, place: Place): { before: string[]; after: string[] } | null {
  if (!change.anchored || change.truncated) return null;
  const known = split.get(sides) ?? { before: linesOf(sides.before), after: linesOf(sides.after) };
  split.set(sides, known);
  const { before, after } = known;
  for (const hunk of change.hunks) {
    let [old, now] = [Math.max(hunk.old_start - 1, 0), Math.max(hunk.new_start - 1, 0)];
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line[0] !== "+" && before[old++] !== text) return null;
      if (line[0] !== "-" && after[now++] !== text) return null;
    }
  }
  const drawn = (line: string): string => `${visibleCode(line)}\n`;
  const hunk = change.hunks.at(-1);
  const ends =
    place.last || hunk === undefined
      ? [before.length, after.length]
      : [hunk.old_start + hunk.old_lines - (hunk.old_lines === 0 ? 0 : 1), firstLine(hunk) + hunk.new_lines];
  return {
    before: before.slice(place.before, ends[0]).map(drawn),
    after: after.slice(place.after, ends[1]).map(drawn),
  };
}

/** Lines end at `\n` only, as everywhere in Redline. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function markFinalNewline(change: Change, data: FileDiffMetadata): void {
  const last = change.hunks.at(-1);
  const shown = data.hunks.at(-1);
  if (last === undefined || shown === undefined) return;
  const differs = (change.before?.final_newline ?? true) !== (change.after?.final_newline ?? true);
  const reaches = (start: number, count: number, lines: number | null): boolean =>
    lines === null ? differs : count > 0 && start + count - 1 >= lines;
  if (change.before?.final_newline === false && reaches(last.old_start, last.old_lines, change.before.lines)) {
    shown.noEOFCRDeletions = true;
    trimLast(data.deletionLines);
  }
  if (change.after?.final_newline === false && reaches(last.new_start, last.new_lines, change.after.lines)) {
    shown.noEOFCRAdditions = true;
    trimLast(data.additionLines);
  }
}

function trimLast(lines: string[]): void {
  const last = lines.at(-1);
  if (last !== undefined) lines[lines.length - 1] = last.replace(/\n$/, "");
}

function characters(lines: readonly string[]): number {
  return lines.reduce((sum, line) => sum + line.length, 0);
}
