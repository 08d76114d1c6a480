/** What a person folded, opened or marked as viewed, by session: it survives new rows, scrolling away and a reload. */
import { type Signal, signal } from "@preact/signals";
import { forget, names, read, write } from "./stored.js";

const PREFIX = "choices.";
/** Of one session, and sessions in all, that are remembered; the oldest go first. */
const MOST_CHOICES = 2_000;
const MOST_SESSIONS = 60;

export class Choices {
  readonly #name: string;
  readonly #choices = new Map<string, Signal<boolean | null>>();
  #saved: Map<string, boolean>;

  constructor(session: string) {
    this.#name = PREFIX + session;
    this.#saved = parsed(read(this.#name));
  }

  /** Null: no choice was made. Read inside a component, it makes the component follow. */
  choice(key: string): boolean | null {
    return this.#signal(key).value;
  }

  choose(key: string, value: boolean): void {
    this.#saved.delete(key);
    this.#saved.set(key, value);
    const watched = this.#choices.get(key);
    if (watched !== undefined) watched.value = value;
    while (this.#saved.size > MOST_CHOICES) {
      const oldest = this.#saved.keys().next().value;
      if (oldest === undefined) break;
      this.#saved.delete(oldest);
    }
    write(this.#name, JSON.stringify({ at: Date.now(), chosen: Object.fromEntries(this.#saved) }));
    if (this.#saved.size === 1) prune();
  }

  #signal(key: string): Signal<boolean | null> {
    let known = this.#choices.get(key);
    if (known === undefined) {
      // Kept only while somebody looks: a long session asks about very many keys.
      known = signal<boolean | null>(this.#saved.get(key) ?? null, { unwatched: () => this.#choices.delete(key) });
      this.#choices.set(key, known);
    }
    return known;
  }
}

function parsed(text: string | null): Map<string, boolean> {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    const chosen = value !== null && typeof value === "object" && "chosen" in value ? value.chosen : {};
    return new Map(
      Object.entries(chosen ?? {}).filter((entry): entry is [string, boolean] => typeof entry[1] === "boolean"),
    );
  } catch {
    return new Map();
  }
}

/** Forgets the sessions that were folded longest ago. */
function prune(): void {
  const ages = names(PREFIX).map((name) => {
    try {
      return { name, at: Number((JSON.parse(read(name) ?? "{}") as { at?: number }).at ?? 0) };
    } catch {
      return { name, at: 0 };
    }
  });
  ages.sort((a, b) => b.at - a.at);
  for (const { name } of ages.slice(MOST_SESSIONS)) forget(name);
}
