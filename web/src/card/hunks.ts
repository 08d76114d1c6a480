/** How a hunk is named for people: by its first changed line, and its counts. */
import { messages } from "../i18n/language.js";
import type { Change } from "../wire/rows.js";

type Hunk = Change["hunks"][number];

export function nameOfHunk(hunk: Hunk): string {
  const count = (sign: string): number => hunk.lines.filter((line) => line.startsWith(sign)).length;
  return messages().undo.hunkAt(firstChanged(hunk), count("-"), count("+"));
}

/** The line of the new text on which its first change stands; where lines were only taken out, the one after them. */
export function firstChanged(hunk: Hunk): number {
  const before = hunk.lines.findIndex((line) => !line.startsWith(" "));
  return hunk.new_start + Math.max(0, before);
}
