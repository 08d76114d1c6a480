/** A session that is open on this page: its rows, its state, what was chosen in it, and how it is kept up to date. */
import { signal } from "@preact/signals";
import { everything } from "../app/everything.js";
import { Choices } from "../settings/choices.js";
import type { Cursor, StreamEvent } from "../stream/connection.js";
import { Book, type Delta } from "../transcript/book.js";
import { api, problemOf } from "../wire/api.js";
import type { Problem, Row, SessionState } from "../wire/rows.js";

/** Rows of a page. */
const PAGE = 60;

export class OpenSession {
  readonly id: string;
  readonly book = new Book();
  readonly choices: Choices;
  readonly state = signal<SessionState | null>(null);
  readonly loading = signal(true);
  readonly loadingEarlier = signal(false);
  /** Of the page with earlier rows; null: the beginning is here. */
  readonly before = signal<number | null>(null);
  readonly problem = signal<Problem | null>(null);
  readonly #loaded: (session: OpenSession) => void;
  #seq = 0;
  #closed = false;

  /** `loaded`: called each time its rows have come, so that what comes after them can be asked for. */
  constructor(id: string, loaded: (session: OpenSession) => void) {
    this.id = id;
    this.#loaded = loaded;
    this.choices = new Choices(id);
  }

  readonly cursor: Cursor = () => this.#seq;

  /** Loads the end of the session. */
  async load(): Promise<void> {
    this.loading.value = true;
    this.problem.value = null;
    try {
      const [page, state] = await Promise.all([api.rows(this.id, null, PAGE), api.state(this.id)]);
      if (this.#closed) return;
      this.#seq = page.seq;
      this.before.value = page.before;
      this.book.upsert(page.rows);
      this.state.value = state;
      this.#loaded(this);
      while (everything && this.before.peek() !== null && this.problem.peek() === null) await this.loadEarlier();
    } catch (error) {
      if (!this.#closed) this.problem.value = problemOf(error);
    } finally {
      this.loading.value = false;
    }
  }

  async loadEarlier(): Promise<void> {
    const before = this.before.peek();
    if (before === null || this.loadingEarlier.peek()) return;
    this.loadingEarlier.value = true;
    try {
      const page = await api.rows(this.id, before, PAGE);
      if (this.#closed) return;
      this.book.upsert(page.rows);
      this.before.value = page.before;
    } catch (error) {
      this.problem.value = problemOf(error);
    } finally {
      this.loadingEarlier.value = false;
    }
  }

  /** Lets go of the oldest rows where there are very many; they can be loaded again. */
  trim(): void {
    if (this.book.trim()) this.before.value = this.book.oldest;
  }

  /** Takes this session's events of one frame. */
  take(events: readonly StreamEvent[]): void {
    let rows: Row[] = [];
    let texts: Delta[] = [];
    // In their order: text that follows a row is not in the row yet.
    const flush = (): void => {
      if (rows.length > 0) this.book.upsert(rows);
      if (texts.length > 0) this.book.write(texts);
      rows = [];
      texts = [];
    };
    for (const event of events) {
      if (event.type === "rows") {
        if (texts.length > 0) flush();
        rows.push(...event.data.rows);
        for (const row of event.data.rows) this.#seq = Math.max(this.#seq, row.revision);
      } else if (event.type === "text") {
        const { row, turn, kind, text, replace } = event.data;
        texts.push({ row, turn, kind, text, replace });
      } else if (event.type === "state") {
        this.state.value = event.data.state;
      } else if (event.type === "reset") {
        flush();
        this.#reset(event.data.problem);
      }
    }
    flush();
  }

  close(): void {
    this.#closed = true;
  }

  #reset(problem: Problem | null): void {
    if (problem !== null) {
      this.problem.value = problem;
      return;
    }
    this.book.clear();
    void this.load();
  }
}
