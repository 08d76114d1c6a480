import type { VNode } from "preact";
import { pieces } from "./visible.js";

/** A line of foreign text with its hidden characters drawn as marks; isolated, so that it reorders nothing around it. */
export function Foreign({ text, code = false }: { text: string; code?: boolean }): VNode {
  const runs = pieces(text);
  const content = runs.map((piece) => (piece.mark ? <mark class="hidden-char">{piece.text}</mark> : piece.text));
  return code ? <code dir="ltr">{content}</code> : <bdi>{content}</bdi>;
}
