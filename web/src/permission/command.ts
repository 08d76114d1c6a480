/** What a question about a command says of it. All of it is pure. */
import { clip } from "../text/clip.js";
import type { ToolRow } from "../wire/rows.js";

/**
 * The whole command that a question is about; null: it is about no command. The title of a question is no more than
 * the first line of it.
 */
export function commandOf(asking: Pick<ToolRow, "card" | "title"> | undefined): string | null {
  return asking?.card === "terminal" ? asking.title : null;
}

/** The title, and a mark where it is the beginning only of what was asked for. */
export function shortOf(title: string, command: string | null, characters: number): string {
  const whole = command?.startsWith(title) ? command : title;
  const short = clip(whole.trim(), 1, characters);
  return short === null ? whole.trim() : `${short.trimEnd()} …`;
}
