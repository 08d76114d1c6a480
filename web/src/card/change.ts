/** What can be said of a change without drawing it: counts, form, warnings, facts. All of it is pure. */
import type { Change, NetTotal } from "../wire/rows.js";

/** Diff lines of one file, context included, up to which its card is drawn whole. */
export const FULL_LINES = 400;
/** Characters of one line above which no viewer gets it. */
export const LONG_LINE = 4_000;
/** Characters of all lines above which no viewer gets them. */
export const LONG_TEXT = 1_000_000;

export type Bound = "" | "≥" | "≈";

/** Of counts that come with what they are. */
export function boundOf(counts: { at_least: boolean; exact: boolean }): Bound {
  return counts.at_least ? "≥" : counts.exact ? "" : "≈";
}

export interface Counts {
  removed: number;
  added: number;
  bound: Bound;
}

/** `full`: all lines can be drawn in the transcript. `summary`: a chip that opens the details. */
export function fileForm(change: Change): "full" | "summary" {
  return change.truncated || change.hunks_omitted || change.diff_lines > FULL_LINES ? "summary" : "full";
}

/** Null where nobody can count. */
export function countsOf(change: Change): Counts | null {
  if (change.file_type === "binary" || change.file_type === "unknown") return null;
  return { removed: change.removed, added: change.added, bound: boundOf(change) };
}

export function countsOfTotal(total: NetTotal, partial: boolean): Counts | null {
  if (!total.counted || total.file_type === "binary") return null;
  const bound = partial ? "≥" : !total.exact ? "≈" : "";
  return { removed: total.removed, added: total.added, bound };
}

/** The sum over those that can be counted: a lower bound where one of them cannot. */
export function sumOf(counts: readonly (Counts | null)[]): Counts | null {
  const known = counts.filter((one) => one !== null);
  if (known.length === 0) return null;
  const bounds = new Set(known.map((one) => one.bound));
  return {
    removed: known.reduce((sum, one) => sum + one.removed, 0),
    added: known.reduce((sum, one) => sum + one.added, 0),
    bound: bounds.has("≥") || known.length < counts.length ? "≥" : bounds.has("≈") ? "≈" : "",
  };
}

/** True: some line, or all of them together, would hold up the viewer, and the page with it. */
export function isTooLongToColour(change: Change): boolean {
  let total = 0;
  for (const hunk of change.hunks) {
    for (const line of hunk.lines) {
      total += line.length;
      if (line.length > LONG_LINE || total > LONG_TEXT) return true;
    }
  }
  return false;
}

export type Fact =
  | Change["facts"][number]
  | "executable"
  | "binary"
  | "symlink"
  | "redacted"
  | "unanchored"
  | "reported"
  | "emptied"
  | "not_utf8"
  | "unknown_type";

/** What a reader must be told besides lines, also where no visible character differs. */
export function factsOf(change: Change): Fact[] {
  const { before, after } = change;
  const facts: Fact[] = [...change.facts];
  const say = (holds: boolean | undefined, fact: Fact): void => {
    if (holds) facts.push(fact);
  };
  say(change.operation === "modify" && before !== null && before.size > 0 && after?.size === 0, "emptied");
  say(change.operation === "add" && after?.executable, "executable");
  say(change.file_type === "binary", "binary");
  say(change.file_type === "symlink", "symlink");
  say(change.file_type === "unknown", "unknown_type");
  say(change.redacted, "redacted");
  say(!change.anchored && change.diff_lines > 0, "unanchored");
  say(change.provenance === "reported", "reported");
  say(before?.utf8 === false || after?.utf8 === false, "not_utf8");
  return facts;
}

export function basename(path: string): string {
  const trimmed = path.replace(/\/+$/, "");
  return trimmed.slice(trimmed.lastIndexOf("/") + 1) || path;
}

/** Five cells, shared out between added and removed; at least one for each that there is. */
export function diffstat(counts: Counts | null): readonly ("added" | "removed" | "none")[] {
  const { added = 0, removed = 0 } = counts ?? {};
  const total = added + removed;
  if (total === 0) return Array<"none">(5).fill("none");
  const filled = Math.min(5, total);
  let plus = Math.round((added / total) * filled);
  if (added > 0 && plus === 0) plus = 1;
  if (removed > 0 && plus === filled) plus = filled - 1;
  return Array.from({ length: 5 }, (_, at) => (at < plus ? "added" : at < filled ? "removed" : "none"));
}
