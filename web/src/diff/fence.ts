/**
 * A diff that stands in a model's text, drawn as every other diff is: in the chosen style, by a viewer while it is near.
 * It is text that somebody wrote, and says nothing of what is on disk; what cannot be read as a patch stays text.
 */

import type { FileDiffMetadata } from "@pierre/diffs";
import { effect } from "@preact/signals";
import { FULL_LINES, LONG_LINE } from "../card/change.js";
import { diffStyle, diffView, diffWrap, theme } from "../settings/settings.js";
import { watchNearness } from "./near.js";
import { enqueue } from "./queue.js";
import { loadViewer, mountViewer, type Viewer } from "./viewer.js";

/** Text that is still being written is let be until it has rested so long. */
const REST = 600;

/** Takes care of the diffs in some markup until the returned function is called. */
export function drawFences(root: HTMLElement): () => void {
  const stops = [...root.querySelectorAll<HTMLElement>("[data-part=diff-fence]")].map(drawFence);
  return () => {
    for (const stop of stops) stop();
  };
}

function drawFence(fence: HTMLElement): () => void {
  const text = fence.querySelector("code")?.textContent ?? "";
  if (!isDrawable(text)) return () => {};
  let leave = (): void => {};
  const timer = setTimeout(() => {
    leave = watchNearness(fence, (near) => {
      if (near) mount();
      else unmount();
    });
  }, REST);
  const pre = fence.querySelector("pre");
  const host = document.createElement("div");
  let stop: AbortController | null = null;

  const mount = (): void => {
    if (stop !== null || diffView.peek() === "table") return;
    const own = new AbortController();
    stop = own;
    enqueue(async () => {
      try {
        const files = await patchIn(text);
        if (files.length === 0 || own.signal.aborted) return;
        const mounted: Viewer[] = [];
        fence.append(host);
        for (const file of files) {
          const wrapper = document.createElement("div");
          host.append(wrapper);
          mounted.push(await mountViewer(wrapper, file, look(), own.signal));
        }
        if (pre !== null) pre.hidden = true;
        fence.style.minHeight = "";
        own.signal.addEventListener(
          "abort",
          effect(() => {
            const now = look();
            for (const viewer of mounted) viewer.setLook(now);
          }),
        );
      } catch {
        unmount(); // the text stands there all the same
      }
    });
  };
  const unmount = (): void => {
    if (stop === null) return;
    fence.style.minHeight = `${fence.offsetHeight}px`;
    stop.abort();
    stop = null;
    host.replaceChildren();
    if (pre !== null) pre.hidden = false;
  };
  return () => {
    clearTimeout(timer);
    leave();
    unmount();
  };
}

function look(): Parameters<typeof mountViewer>[2] {
  return { style: diffStyle.value, wrap: diffWrap.value === "wrap", numbers: true, words: true, theme: theme.value };
}

function isDrawable(text: string): boolean {
  const lines = text.split("\n");
  return (
    lines.length <= FULL_LINES &&
    lines.every((line) => line.length <= LONG_LINE) &&
    lines.some((line) => line.startsWith("@@ "))
  );
}

/** The files of a patch; none where it is not one, or says of itself what is not so. */
async function patchIn(text: string): Promise<FileDiffMetadata[]> {
  const { parsePatchFiles } = await loadViewer();
  const patches = parsePatchFiles(`${text}\n`, { throwOnError: true, disableLineMatching: true });
  const files = patches.flatMap((patch) => patch.files);
  return files.every((file) => file.hunks.length > 0) ? files : [];
}
