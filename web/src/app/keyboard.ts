/** The keys that work anywhere on the page, but not while somebody types. */

import { panelKeys } from "../panel/Toolbar.js";
import { closePanel, panelOpen } from "../panel/target.js";
import { diffStyle } from "../settings/settings.js";
import { drawer, keysOpen } from "./page.js";

export function listenToKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.composedPath()[0];
    const typing = target instanceof HTMLElement && target.matches("input:not([type=checkbox]), textarea, select");
    if (document.querySelector("dialog[open]") !== null) return;
    if (event.key === "Escape") {
      if (panelOpen.peek()) closePanel();
      else if (drawer.peek()) drawer.value = false;
      else if (typing) target.blur();
      return;
    }
    if (typing) return;
    const act = ACTS[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
}

const ACTS: Record<string, () => void> = {
  j: () => step("[data-row]", 1),
  k: () => step("[data-row]", -1),
  n: () => (panelOpen.peek() && panelKeys.peek() !== null ? panelKeys.peek()?.next() : step("[data-card]", 1)),
  p: () => (panelOpen.peek() && panelKeys.peek() !== null ? panelKeys.peek()?.previous() : step("[data-card]", -1)),
  o: () => press("[data-part=card-toggle], [data-part=card-details], [data-part=fold]"),
  d: () => press("[data-part=open-panel], [data-part=card-details], [data-part=net-chip]"),
  s: () => {
    diffStyle.value = diffStyle.peek() === "unified" ? "split" : "unified";
  },
  v: () => panelKeys.peek()?.viewed(),
  c: () => focus("#prompt"),
  g: () => {
    const all = document.querySelectorAll<HTMLElement>("#transcript [data-row]");
    all[all.length - 1]?.focus();
    const scroller = document.getElementById("transcript");
    if (scroller !== null) scroller.scrollTop = scroller.scrollHeight;
  },
  "/": () => {
    drawer.value = true;
    focus("#session-search");
  },
  "?": () => {
    keysOpen.value = true;
  },
};

function focus(selector: string): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>(selector)?.focus());
}

/** To the next or previous of its kind: from the one in focus, or else from the last. */
function step(selector: string, by: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>(`#transcript ${selector}`)];
  if (all.length === 0) return;
  const inFocus = document.activeElement?.closest<HTMLElement>(selector) ?? null;
  const at = inFocus === null ? all.length : all.indexOf(inFocus);
  const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
  const target = next?.matches("[data-card]") ? (next.querySelector<HTMLElement>("button") ?? next) : next;
  target?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

/** What the row or card in focus offers. */
function press(selector: string): void {
  const place = document.activeElement?.closest("[data-file], [data-card], [data-row]");
  place?.querySelector<HTMLElement>(selector)?.click();
}
