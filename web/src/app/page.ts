/** What this page has open, and the one stream that keeps it up to date. */
import { computed, effect, signal } from "@preact/signals";
import { closePanel, panelTarget } from "../panel/target.js";
import { SessionList } from "../sessions/list.js";
import { OpenSession } from "../sessions/open.js";
import { SharedConnection } from "../stream/shared.js";

export const sessionList = new SessionList();
export const current = signal<OpenSession | null>(null);
export const connection = new SharedConnection((events) => {
  for (const event of events) if (event.type === "sessions") sessionList.take(event.data);
  const open = current.peek();
  if (open === null) return;
  const own = events.filter((event) => event.type !== "sessions" && event.data.session === open.id);
  if (own.length > 0) open.take(own);
});

/** What was missed, or could not be loaded, while there was no stream. */
let opened = false;
effect(() => {
  if (connection.link.value !== "open") return;
  if (opened) void sessionList.refresh();
  opened = true;
  const open = current.peek();
  if (open !== null && open.problem.peek() !== null && open.book.size === 0 && !open.loading.peek()) void open.load();
  if (sessionList.problem.peek() !== null) void sessionList.load();
});

export const title = computed(() => current.value?.state.value?.title ?? "");
export const drawer = signal(false);
export const newSessionOpen = signal(false);
/** The session that was just started here: its prompt is what is written next. */
export const begun = signal("");
export const settingsOpen = signal(false);
export const keysOpen = signal(false);

/** Sessions that were left lately stay in memory: going back to one is then at once. */
const KEPT = 4;
const kept = new Map<string, OpenSession>();

export function openSession(id: string): void {
  drawer.value = false;
  if (current.peek()?.id === id) return;
  const before = current.peek();
  let session = kept.get(id);
  kept.delete(id);
  if (session === undefined) {
    session = new OpenSession(id, (loaded) => {
      if (current.peek() === loaded) connection.subscribe(id, loaded.cursor);
    });
    void session.load();
  } else {
    connection.subscribe(id, session.cursor);
  }
  kept.set(id, session);
  for (const [oldest, left] of kept) {
    if (kept.size <= KEPT) break;
    kept.delete(oldest);
    left.close();
  }
  if (before !== null) connection.unsubscribe(before.id);
  closePanel();
  panelTarget.value = null;
  current.value = session;
}

/** Back to the list of sessions. */
export function leaveSession(): void {
  const before = current.peek();
  if (before !== null) connection.unsubscribe(before.id);
  closePanel();
  current.value = null;
  drawer.value = true;
}

export function go(session: string | null): void {
  location.hash = session === null ? "" : `#/s/${encodeURIComponent(session)}`;
}

/** The session that the address names. */
export function sessionIn(hash: string): string | null {
  const match = /^#\/s\/([^/?]+)/.exec(hash);
  try {
    return match?.[1] === undefined ? null : decodeURIComponent(match[1]);
  } catch {
    return null;
  }
}
