/** The one place that knows the viewer: loads it when the first card needs it, and counts what is mounted. */
import type { FileDiff, FileDiffMetadata, FileDiffOptions, HunkData } from "@pierre/diffs";
import { messages } from "../i18n/language.js";
import { DARK, LIGHT } from "./themes.js";

export interface ViewerLook {
  style: "unified" | "split";
  wrap: boolean;
  numbers: boolean;
  /** Mark the words that changed, line by line. */
  words: boolean;
  theme: "system" | "light" | "dark";
}

export interface Viewer {
  /** The element in whose shadow the lines are. */
  readonly host: HTMLElement;
  setLook(look: ViewerLook): void;
  expandAll(): void;
  dispose(): void;
}

/** Counters that a test reads from `window.__redline.viewers`. */
export const viewers = { mounted: 0, opened: 0, closed: 0 };

let library: Promise<typeof import("@pierre/diffs")> | undefined;

/** Rejects where the viewer's files cannot be loaded; a later call tries again. */
export function loadViewer(): Promise<typeof import("@pierre/diffs")> {
  library ??= import("@pierre/diffs").catch((error: unknown) => {
    library = undefined;
    throw error;
  });
  return library;
}

/** Makes everything ready that the first card needs, in a moment when nothing else is to be done. */
export function prepareViewer(): void {
  const idle = window.requestIdleCallback ?? ((run: () => void) => setTimeout(run, 1_000));
  idle(() => {
    loadViewer()
      .then((viewer) =>
        viewer.preloadHighlighter({ themes: [LIGHT, DARK], langs: [], preferredHighlighter: "highlights" }),
      )
      .catch(() => {}); // the card that needs it says so
  });
}

/** Draws a change into `wrapper`; resolves when its lines stand there. Rejects where it cannot be drawn. */
export async function mountViewer(
  wrapper: HTMLElement,
  data: FileDiffMetadata,
  look: ViewerLook,
  signal: AbortSignal,
): Promise<Viewer> {
  const { FileDiff } = await loadViewer();
  signal.throwIfAborted();
  let drawn: () => void = () => {};
  const ready = new Promise<void>((resolve) => {
    drawn = resolve;
  });
  const viewer: FileDiff = new FileDiff(
    optionsFor(look, (host) => {
      if (labelLines(host) > 0) drawn();
    }),
  );
  viewers.mounted += 1;
  viewers.opened += 1;
  let disposed = false;
  const dispose = (): void => {
    if (disposed) return;
    disposed = true;
    viewers.mounted -= 1;
    viewers.closed += 1;
    viewer.cleanUp();
    wrapper.replaceChildren();
  };
  signal.addEventListener("abort", dispose, { once: true });
  try {
    viewer.render({ fileDiff: data, containerWrapper: wrapper });
    await Promise.race([ready, aborted(signal)]);
  } catch (error) {
    dispose();
    throw error;
  }
  const host = wrapper.querySelector<HTMLElement>("diffs-container");
  if (host === null) {
    dispose();
    throw new Error("the viewer drew nothing");
  }
  return {
    host,
    setLook(next) {
      viewer.setOptions({ ...viewer.options, ...lookOptions(next) });
      viewer.rerender();
    },
    expandAll() {
      viewer.setOptions({ ...viewer.options, expandUnchanged: true });
      viewer.rerender();
    },
    dispose,
  };
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

function lookOptions(look: ViewerLook): FileDiffOptions<undefined, undefined> {
  return {
    diffStyle: look.style,
    overflow: look.wrap ? "wrap" : "scroll",
    disableLineNumbers: !look.numbers,
    lineDiffType: look.words ? "word-alt" : "none",
    themeType: look.theme,
  };
}

function optionsFor(look: ViewerLook, rendered: (host: HTMLElement) => void): FileDiffOptions<undefined, undefined> {
  return {
    ...lookOptions(look),
    theme: { light: LIGHT, dark: DARK },
    preferredHighlighter: "highlights",
    diffIndicators: "classic",
    disableFileHeader: true,
    disableErrorHandling: true,
    disableVirtualizationBuffers: true,
    expansionLineCount: 20,
    hunkSeparators: separator,
    unsafeCSS: OWN_STYLE,
    onPostRender: (host, _viewer, phase) => {
      if (phase !== "unmount") rendered(host);
    },
  };
}

/** The bar between two hunks, in the reader's language and reachable by keyboard. */
function separator(hunk: HunkData, viewer: FileDiff): HTMLElement {
  const bar = document.createElement("div");
  bar.className = "diff-gap";
  const t = messages();
  if (hunk.type === "additions") return bar; // beside it, the bar of the old side says it
  const button = (text: string, direction: "up" | "down" | "both", all = false): void => {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.addEventListener("click", () => {
      if (all) viewer.expandHunk(hunk.hunkIndex, direction, Number.POSITIVE_INFINITY);
      else viewer.expandHunk(hunk.hunkIndex, direction);
    });
    bar.append(element);
  };
  const label = document.createElement("span");
  label.textContent = hunk.lineCountKnown ? t.diff.unchanged(hunk.lines) : t.diff.gap;
  bar.append(label);
  if (hunk.expandable !== undefined) {
    if (hunk.expandable.chunked) {
      if (hunk.expandable.up) button(t.diff.showAbove, "up");
      if (hunk.expandable.down) button(t.diff.showBelow, "down");
    }
    button(t.diff.showAll, "both", true);
  }
  return bar;
}

/**
 * Labels are for ears only, and no part of what is selected and copied. A bar between hunks hangs in the column of
 * numbers; it is as wide as both columns.
 */
const OWN_STYLE = `
  [data-spoken] { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
    white-space: nowrap; user-select: none; -webkit-user-select: none; }
  [data-separator=custom] { position: relative; height: 28px; background: var(--diffs-bg-separator); }
  [data-gutter] [data-separator=custom] { z-index: 3; }
  pre[data-overflow=wrap] code { overflow: hidden; }
`;
const LABELLED = "data-labelled";

/**
 * The viewer's own tree tells a screen reader neither the number of a line nor whether it was added. So each changed line
 * gets words for that which nobody sees, and the numbers beside it are not read. Where
 * lines run on to the right, a keyboard can scroll to them. Returns how many lines there are.
 */
function labelLines(host: HTMLElement): number {
  const root = host.shadowRoot;
  if (root === null) return 0;
  const t = messages();
  for (const number of root.querySelectorAll("[data-gutter] [data-column-number]")) {
    number.setAttribute("aria-hidden", "true");
  }
  const scrolls = root.querySelector("pre")?.dataset.overflow === "scroll";
  for (const code of root.querySelectorAll<HTMLElement>("code[data-code]")) code.tabIndex = scrolls ? 0 : -1;
  const lines = root.querySelectorAll<HTMLElement>("[data-content] [data-line]");
  for (const line of lines) {
    if (line.hasAttribute(LABELLED)) continue;
    line.setAttribute(LABELLED, "");
    const type = line.dataset.lineType ?? "";
    const number = line.dataset.line ?? "";
    const label = document.createElement("span");
    label.dataset.spoken = "";
    label.textContent = type.includes("addition")
      ? t.diff.spokenAdded(number)
      : type.includes("deletion")
        ? t.diff.spokenRemoved(number)
        : t.diff.spokenContext(number);
    line.prepend(label);
  }
  for (const note of root.querySelectorAll("[data-no-newline] span")) note.textContent = t.diff.noFinalNewline;
  return lines.length;
}
