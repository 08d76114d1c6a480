import type { Change } from "../wire/rows.js";

/** What a "viewed" mark is bound to: the file as it is after this change. Another change of it is not viewed. */
export function viewedName(change: Change): string {
  return `viewed:${change.path}@${change.before?.blob ?? ""}..${change.after?.blob ?? ""}:${change.added}:${change.removed}`;
}
