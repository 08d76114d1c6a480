/** What a person can set, and what holds on this page because of it. */
import { effect } from "@preact/signals";
import type { CardStart } from "../card/form.js";
import { locale } from "../i18n/language.js";
import { stored } from "./stored.js";

export type Theme = "system" | "light" | "dark";

export const theme = stored<Theme>("theme", "system", ["system", "light", "dark"]);
/** How cards start that nobody has folded or opened. */
export const cardStart = stored<CardStart>("cards", "full", ["none", "summary", "full"]);
/** One setting for every diff on the page. */
export const diffStyle = stored<"unified" | "split">("diff-style", "unified", ["unified", "split"]);
export const diffWrap = stored<"wrap" | "scroll">("diff-wrap", "wrap", ["wrap", "scroll"]);
/** `table`: plain rows with numbers and words, for those who read with a screen reader or want no colours. */
export const diffView = stored<"coloured" | "table">("diff-view", "coloured", ["coloured", "table"]);

/** Keeps the document's own attributes as the settings say. */
export function applySettings(root: HTMLElement): () => void {
  return effect(() => {
    root.lang = locale();
    root.dataset.theme = theme.value;
  });
}
