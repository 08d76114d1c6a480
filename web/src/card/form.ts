/** Which cards a row has, how each stands, and how it starts: the rules of what a person sees, without a page. */
import type { Change, FoundRow, RevertRow, Row, ToolRow } from "../wire/rows.js";

/**
 * `applied`: on disk. `landed`: on disk although the call did not end well. `reverted`: was on disk, taken back by an
 * undo; `partial`: a part of it was. All others were never on disk, as far as anybody knows.
 */
export type Standing =
  | "applied"
  | "landed"
  | "reverted"
  | "partial"
  | "proposed"
  | "running"
  | "failed"
  | "rejected"
  | "cancelled"
  | "interrupted"
  | "unknown";

export interface CardPlan {
  /** Names the card for its fold; the same live and after a reload. */
  key: string;
  standing: Standing;
  /** How those of its changes stand that were not taken back. */
  rest: Standing;
  changes: readonly Change[];
  /** Paths among them that were taken back while others stand. */
  reverted: ReadonlySet<string>;
  /** By path, the numbers, from 1, of hunks that were taken back by themselves. */
  hunks: ReadonlyMap<string, readonly number[]>;
}

const NONE: Pick<CardPlan, "reverted" | "hunks"> = { reverted: new Set(), hunks: new Map() };

/** How new cards start, by the person's setting. */
export type CardStart = "none" | "summary" | "full";

export function isOnDisk(standing: Standing): boolean {
  return standing === "applied" || standing === "landed" || standing === "partial";
}

/** A verb in the past is for what happened, also where it was taken back later. */
export function isShownAsDone(standing: Standing): boolean {
  return isOnDisk(standing) || standing === "reverted";
}

/**
 * The cards of a call. Only the record's changes make one: neither what the call is called, nor its kind, nor text that
 * looks like a diff has a say.
 */
export function cardsOf(row: ToolRow): CardPlan[] {
  const cards: CardPlan[] = [];
  const changes = row.changes;
  const reverted = new Set(row.reverted_paths);
  if (changes.length > 0) {
    const rest = row.status === "applied" ? "applied" : "landed";
    const hunks = new Map<string, number[]>();
    for (const { path, hunk } of row.reverted_hunks) hunks.set(path, [...(hunks.get(path) ?? []), hunk]);
    const plan = withStanding({ key: row.id, rest, changes, reverted, hunks });
    cards.push(row.reverted ? { ...plan, standing: "reverted" } : plan);
  }
  const landed = new Set(changes.map((change) => change.path));
  const rest = row.proposed.filter((change) => !landed.has(change.path));
  if (rest.length > 0 && (changes.length === 0 || !hasEndedWell(row))) {
    cards.push({
      key: `${row.id}#proposed`,
      standing: standingOfProposal(row),
      rest: standingOfProposal(row),
      changes: rest,
      ...NONE,
    });
  }
  return cards;
}

/** The card of what was found on disk; an undo may have taken back all of it or a part. */
export function cardOfFound(row: FoundRow): CardPlan {
  const reverted = new Set(row.reverted_paths);
  return withStanding({ ...NONE, key: row.id, rest: "applied", changes: row.changes, reverted });
}

/** The card of an undo, which may itself have been undone. */
export function cardOfUndo(row: RevertRow): CardPlan {
  const standing = row.reverted ? "reverted" : "applied";
  return { key: row.id, standing, rest: standing, changes: row.changes, ...NONE };
}

/** How one change of a card stands. */
export function standingIn(plan: Omit<CardPlan, "standing">, change: Change): Standing {
  if (plan.reverted.has(change.path)) return "reverted";
  const taken = plan.hunks.get(change.path)?.length ?? 0;
  if (taken === 0) return plan.rest;
  const all = !change.truncated && !change.hunks_omitted && taken >= change.hunks.length;
  return all ? "reverted" : "partial";
}

/** A card stands as its changes do; where only some of them were taken back, in part. */
function withStanding(plan: Omit<CardPlan, "standing">): CardPlan {
  const standings = new Set(plan.changes.map((change) => standingIn(plan, change)));
  const [first = plan.rest] = standings;
  return { ...plan, standing: standings.size > 1 ? "partial" : first };
}

/** A proposal of a call that ended well, and whose change is not among those on disk, did not happen. */
function standingOfProposal(row: ToolRow): Standing {
  switch (row.status) {
    case "applied":
    case "completed":
      return "failed";
    default:
      return row.status;
  }
}

function hasEndedWell(row: ToolRow): boolean {
  return row.status === "applied" || row.status === "completed";
}

/** True: the row says something that no fold may hide. */
export function mustStay(row: Row): boolean {
  switch (row.kind) {
    case "tool":
      return (
        row.changes.length > 0 ||
        row.proposed.length > 0 ||
        row.error !== null ||
        row.warnings.length > 0 ||
        row.permission === "asked" ||
        !["completed", "applied"].includes(row.status)
      );
    case "notice":
      return row.level !== "info";
    case "thought":
    case "plan":
    case "agent":
      return false;
    default:
      return true;
  }
}
