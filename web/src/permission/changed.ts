/** Why a call asks twice. */
import type { PermissionRow } from "../wire/rows.js";

/** True: `later` is about another state of a file than `earlier`, which was allowed. */
export function isAskedAgain(earlier: PermissionRow, later: PermissionRow): boolean {
  if (earlier.id === later.id || earlier.seq > later.seq || !earlier.outcome?.startsWith("allow")) return false;
  const before = new Map(earlier.changes.map((change) => [change.path, change.before?.blob ?? null]));
  return later.changes.some(
    (change) => before.has(change.path) && before.get(change.path) !== (change.before?.blob ?? null),
  );
}
