/** What the side panel shows. */
import { signal } from "@preact/signals";
import type { Change, UndoSelection } from "../wire/rows.js";

export type Target =
  /** Changes of a row: those on disk, or those that were proposed. */
  | { kind: "row"; row: string; path: string | null; applied: boolean }
  /** What a turn did to a file. */
  | { kind: "net"; turn: number; path: string }
  /** What git says of a file now. */
  | { kind: "git"; path: string };

export type Tab = "change" | "files";

export const panelOpen = signal(false);
export const panelTab = signal<Tab>("change");
export const panelTarget = signal<Target | null>(null);
/** What had the focus when the panel opened: it gets it back. */
let opener: HTMLElement | null = null;

export function showInPanel(target: Target): void {
  remember();
  panelTarget.value = target;
  panelTab.value = target.kind === "git" ? "files" : "change";
  panelOpen.value = true;
}

export function showFiles(): void {
  remember();
  panelTab.value = "files";
  panelOpen.value = true;
}

export function closePanel(): void {
  panelOpen.value = false;
  opener?.focus({ preventScroll: true });
  opener = null;
}

function remember(): void {
  if (!panelOpen.peek() && document.activeElement instanceof HTMLElement) opener = document.activeElement;
}

/** What an undo dialog is about; null: none is open. */
export interface UndoWish {
  selection: UndoSelection;
  /** Whose parts can be taken back one by one; null: only the whole selection can. */
  change: Change | null;
}

export const undoWish = signal<UndoWish | null>(null);
