/**
 * The rows of one session on this page. Each row is a signal of its own, so that an update draws the row it is of and
 * nothing else. Upserts are idempotent: no row is replaced by an earlier revision of itself.
 */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { mustStay } from "../card/form.js";
import type { PermissionRow, Row } from "../wire/rows.js";
import type { Shape } from "./items.js";

export interface Delta {
  row: string;
  turn: number;
  kind: "agent" | "thought";
  text: string;
  /** The text is all of it so far, not a further piece. */
  replace: boolean;
}

/** Rows of one turn, in their order. */
export interface Section {
  key: string;
  turn: number;
  ids: Signal<readonly string[]>;
}

interface Entry {
  row: Signal<Row>;
  shape: ReadonlySignal<string>;
}

/** Rows above which the oldest are let go while the reader follows the end. They can be loaded again. */
const MOST_ROWS = 1_200;
const KEPT_ROWS = 600;

export class Book {
  readonly #entries = new Map<string, Entry>();
  /** All ids in the order of their rows. */
  #order: string[] = [];
  readonly sections = signal<readonly Section[]>([]);
  /** Ids of the questions of each call. */
  readonly #questions = signal<ReadonlyMap<string, readonly string[]>>(new Map());
  /** Counts new rows at the end, for the reader who is somewhere else. */
  readonly appended = signal(0);

  get size(): number {
    return this.#order.length;
  }

  /** The `seq` of the oldest row that is here: where the page before it begins. */
  get oldest(): number | null {
    const first = this.#order[0];
    return first === undefined ? null : this.#seq(first);
  }

  row(id: string): Signal<Row> | undefined {
    return this.#entries.get(id)?.row;
  }

  /** The questions that a call has asked, in their order. Read inside a component, it makes the component follow. */
  questionsOf(turn: number, call: string): PermissionRow[] {
    const ids = this.#questions.value.get(`${turn} ${call}`) ?? [];
    const rows = ids.map((id) => this.row(id)?.value).filter((row) => row?.kind === "permission");
    return rows.sort((a, b) => a.seq - b.seq);
  }

  /**
   * All that the turn did was taken back. False also where its beginning is not here. Read inside a component, it makes
   * the component follow.
   */
  isUndone(turn: number): boolean {
    const ids = this.sections.value.filter((section) => section.turn === turn).flatMap((section) => section.ids.value);
    const rows = ids.map((id) => this.#get(id).row.value);
    const changed = rows.filter((row) => "changes" in row && row.kind !== "permission" && row.changes.length > 0);
    const isWhole = rows.some((row) => row.kind === "user" || row.kind === "revert");
    return isWhole && changed.length > 0 && changed.every(isTakenBack);
  }

  rows(): Row[] {
    return this.#order.map((id) => this.#get(id).row.peek());
  }

  shapes(ids: readonly string[]): Shape[] {
    return ids.map((id) => {
      const [kind = "", stays = "", size = "0"] = this.#get(id).shape.value.split(" ");
      return { id, kind, stays: stays === "1", size: Number(size) };
    });
  }

  /** Takes rows, in any order and as often as they come. */
  upsert(rows: readonly Row[]): void {
    batch(() => {
      let isNew = false;
      const last = this.#order.at(-1);
      const end = last === undefined ? -1 : this.#seq(last);
      for (const row of rows) {
        const known = this.#entries.get(row.id);
        if (known === undefined) {
          this.#enter(row);
          this.#order.push(row.id);
          isNew = true;
          if (row.seq > end) this.appended.value += 1;
        } else {
          const before = known.row.peek();
          // Of the same revision, the newer version knows more of the rows around it.
          if (row.revision >= before.revision) {
            known.row.value = row;
            if (before.seq !== row.seq) isNew = true;
          }
        }
      }
      if (isNew) this.#arrange();
    });
  }

  /** Takes text that is being written. A row that does not exist yet is made, to be replaced by the committed one. */
  write(deltas: readonly Delta[]): void {
    batch(() => {
      let isNew = false;
      for (const delta of deltas) {
        const known = this.#entries.get(delta.row);
        if (known === undefined) {
          const last = this.#order.at(-1);
          const seq = (last === undefined ? 0 : this.#seq(last)) + 0.001;
          const { row: id, turn, kind, text } = delta;
          this.#enter({ id, turn, seq, revision: 0, at: Date.now(), kind, text } as Row);
          this.#order.push(id);
          this.appended.value += 1;
          isNew = true;
        } else {
          const row = known.row.peek();
          if ("text" in row) known.row.value = { ...row, text: delta.replace ? delta.text : row.text + delta.text };
        }
      }
      if (isNew) this.#arrange();
    });
  }

  /** Lets go of the oldest rows. True: some went, so there are earlier ones to load. */
  trim(): boolean {
    if (this.#order.length <= MOST_ROWS) return false;
    let cut = this.#order.length - KEPT_ROWS;
    const seqAt = (at: number): number => this.#seq(this.#order[at] ?? "");
    // Rows that began with one event are loaded together, so they go together.
    while (cut > 0 && seqAt(cut - 1) === seqAt(cut)) cut -= 1;
    const gone = this.#order.slice(0, cut);
    this.#order = this.#order.slice(gone.length);
    batch(() => {
      this.#arrange();
      for (const id of gone) this.#entries.delete(id);
      this.#forgetQuestions();
    });
    return true;
  }

  clear(): void {
    batch(() => {
      this.#order = [];
      this.#arrange();
      this.#entries.clear();
      this.#forgetQuestions();
      this.appended.value = 0;
    });
  }

  #forgetQuestions(): void {
    const here = [...this.#questions.peek()].map(
      ([key, ids]) => [key, ids.filter((id) => this.#entries.has(id))] as const,
    );
    this.#questions.value = new Map(here.filter(([, ids]) => ids.length > 0));
  }

  #enter(row: Row): void {
    const own = signal(row);
    const shape = computed(() => {
      const now = own.value;
      // Only whether a text is long enough to conclude a turn matters, not each of its characters.
      const size = now.kind === "agent" ? Math.min(now.text.trim().length, 64) : 0;
      return `${now.kind} ${mustStay(now) ? 1 : 0} ${size}`;
    });
    this.#entries.set(row.id, { row: own, shape });
    if (row.kind === "permission") {
      const key = `${row.turn} ${row.call}`;
      const known = this.#questions.peek();
      this.#questions.value = new Map(known).set(key, [...(known.get(key) ?? []), row.id]);
    }
  }

  #get(id: string): Entry {
    const entry = this.#entries.get(id);
    if (entry === undefined) throw new Error(`no row ${id}`);
    return entry;
  }

  #seq(id: string): number {
    return this.#get(id).row.peek().seq;
  }

  /** Sorts, and shares the rows out to turns. A section keeps its identity, and its list where that did not change. */
  #arrange(): void {
    this.#order.sort((a, b) => this.#seq(a) - this.#seq(b));
    const before = new Map(this.sections.peek().map((section) => [section.key, section]));
    const lists = new Map<string, { turn: number; ids: string[] }>();
    let current = "turn:0";
    for (const id of this.#order) {
      const { turn } = this.#get(id).row.peek();
      // What belongs to no turn stands where it happened.
      if (turn !== 0) current = `turn:${turn}`;
      const list = lists.get(current) ?? { turn, ids: [] };
      list.ids.push(id);
      lists.set(current, list);
    }
    const sections: Section[] = [];
    for (const [key, { turn, ids }] of lists) {
      const section = before.get(key) ?? { key, turn, ids: signal<readonly string[]>([]) };
      if (!sameList(section.ids.peek(), ids)) section.ids.value = ids;
      sections.push(section);
    }
    if (!sameList(this.sections.peek(), sections)) this.sections.value = sections;
  }
}

function isTakenBack(row: Row): boolean {
  if (row.kind === "found") return row.changes.every((change) => row.reverted_paths.includes(change.path));
  return (row.kind === "tool" || row.kind === "revert") && row.reverted;
}

function sameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((item, at) => item === b[at]);
}
