/** The list of sessions: a page of it, what is searched for, and what the stream says has changed. */
import { computed, signal } from "@preact/signals";
import { api, problemOf } from "../wire/api.js";
import type { Problem, SessionSummary, StreamSessions } from "../wire/rows.js";

/** Typing rests this long before it is searched for. */
const REST = 200;

export class SessionList {
  readonly search = signal("");
  readonly loading = signal(false);
  readonly problem = signal<Problem | null>(null);
  readonly before = signal<number | null>(null);
  readonly #found = signal<ReadonlyMap<string, SessionSummary>>(new Map());
  /** The one used last first. */
  readonly sessions = computed(() => [...this.#found.value.values()].sort((a, b) => b.updated_at - a.updated_at));
  #asked = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  searchFor(text: string): void {
    this.search.value = text;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.load(), REST);
  }

  load(): Promise<void> {
    return this.#page(null);
  }

  loadMore(): Promise<void> {
    return this.#page(this.before.peek());
  }

  /** Looks again at the sessions that were used last; those further down stay. */
  async refresh(): Promise<void> {
    if (this.search.peek().trim() !== "") return this.load();
    try {
      const page = await api.sessions("", null);
      if (this.search.peek().trim() === "") this.take({ sessions: page.sessions, removed: [] });
    } catch {
      // The stream says what is wrong, and the next time it opens this is tried again.
    }
  }

  take(event: StreamSessions): void {
    const found = new Map(this.#found.peek());
    for (const gone of event.removed) found.delete(gone);
    const wanted = this.search.peek().trim();
    for (const session of event.sessions) {
      // What is searched for is the server's to say: a session that is not among the found ones is not added.
      if (wanted === "" || found.has(session.session)) found.set(session.session, session);
    }
    this.#found.value = found;
  }

  async #page(before: number | null): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    this.loading.value = true;
    try {
      const page = await api.sessions(this.search.peek().trim(), before);
      if (asked !== this.#asked) return;
      const found = new Map(before === null ? [] : this.#found.peek());
      for (const session of page.sessions) found.set(session.session, session);
      this.#found.value = found;
      this.before.value = page.before;
      this.problem.value = null;
    } catch (error) {
      if (asked === this.#asked) this.problem.value = problemOf(error);
    } finally {
      if (asked === this.#asked) this.loading.value = false;
    }
  }
}
