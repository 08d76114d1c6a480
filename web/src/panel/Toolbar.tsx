import { type Signal, signal, useSignal } from "@preact/signals";
import type { RefObject, VNode } from "preact";
import { useLayoutEffect, useMemo } from "preact/hooks";
import { Icon, type IconName } from "../app/Icon.js";
import { codeOf } from "../diff/lines.js";
import { partsOf, type Stop, stopsOf } from "../diff/parts.js";
import { messages } from "../i18n/language.js";
import type { OpenSession } from "../sessions/open.js";
import { diffStyle, diffWrap } from "../settings/settings.js";
import { api, problemOf, type Selection } from "../wire/api.js";
import type { Change } from "../wire/rows.js";
import { viewedName } from "./viewed.js";

/** Set by the toolbar that is shown, for the keys that a person presses anywhere. */
export const panelKeys: Signal<{ next(): void; previous(): void; viewed(): void } | null> = signal(null);

interface Place extends Stop {
  file: number;
}

/** Over the diff: how it is shown, where in it one is, and what can be taken from it. */
export function Toolbar({
  session,
  body,
  changes,
  selection,
}: {
  session: OpenSession;
  body: RefObject<HTMLDivElement | null>;
  changes: readonly Change[];
  selection: Selection;
}): VNode {
  const t = messages().panel;
  const at = useSignal(-1);
  const said = useSignal("");
  const places = useMemo<Place[]>(
    () => changes.flatMap((change, file) => stopsOf(partsOf(change)).map((stop) => ({ ...stop, file }))),
    [changes],
  );
  const move = (by: 1 | -1): void => {
    if (places.length === 0) return;
    at.value = Math.min(Math.max(at.value + by, 0), places.length - 1);
    const place = places[at.value];
    if (place !== undefined && body.current !== null) void showPlace(body.current, place);
  };
  const say = (text: string): void => {
    said.value = text;
    setTimeout(() => {
      if (said.value === text) said.value = "";
    }, 2_500);
  };
  const copy = async (text: () => Promise<string> | string): Promise<void> => {
    let content: string;
    try {
      content = await text();
    } catch (error) {
      say(`${t.patchFailed} ${problemOf(error).message}`);
      return;
    }
    try {
      await navigator.clipboard.writeText(content);
      say(t.copied);
    } catch {
      say(t.copyFailed);
    }
  };
  const onDisk = changes.some((change) => change.provenance === "result" || change.provenance === "observed");
  // In the same step in which it is drawn: a key that is pressed as soon as the panel is seen is heard.
  useLayoutEffect(() => {
    panelKeys.value = {
      next: () => move(1),
      previous: () => move(-1),
      viewed: () => {
        const all = changes.every((change) => session.choices.choice(viewedName(change)) ?? false);
        for (const change of changes) session.choices.choose(viewedName(change), !all);
      },
    };
    return () => {
      panelKeys.value = null;
    };
  });
  const wrap = diffWrap.value === "wrap";
  return (
    <div class="toolbar" role="toolbar" aria-label={t.changes} data-part="panel-toolbar">
      <div class="segments" role="group" aria-label={messages().settings.diff}>
        {(["unified", "split"] as const).map((style) => (
          <button
            key={style}
            type="button"
            aria-pressed={diffStyle.value === style}
            data-part={`style-${style}`}
            onClick={() => {
              diffStyle.value = style;
            }}
          >
            {t[style]}
          </button>
        ))}
      </div>
      <Tool
        icon="wrap"
        label={messages().settings.wraps[wrap ? "scroll" : "wrap"]}
        part="wrap"
        act={() => {
          diffWrap.value = wrap ? "scroll" : "wrap";
        }}
      />
      <span class="toolbar-gap" />
      <Tool icon="up" label={t.previous} part="previous-change" act={() => move(-1)} />
      <span class="place" data-part="place">
        {places.length > 0 && t.of(Math.max(at.value, 0) + (at.value < 0 ? 0 : 1), places.length)}
      </span>
      <Tool icon="down" label={t.next} part="next-change" act={() => move(1)} />
      <span class="toolbar-gap" />
      <Tool
        icon="copy"
        label={t.copyCode}
        part="copy-code"
        act={() => void copy(() => changes.map(codeOf).join("\n"))}
        text
      />
      {onDisk && (
        <>
          <Tool
            icon="file"
            label={t.copyPatch}
            part="copy-patch"
            act={() => void copy(() => api.patch(session.id, selection))}
            text
          />
          <a
            class="tool-button"
            href={api.patchAddress(session.id, selection)}
            download
            title={t.downloadPatch}
            aria-label={t.downloadPatch}
            data-part="download-patch"
          >
            <Icon name="download" />
          </a>
        </>
      )}
      {onDisk && changes.some((change) => change.redacted) && <span class="said attention">{t.unmasked}</span>}
      <span class="said" role="status">
        {said.value}
      </span>
    </div>
  );
}

function Tool({
  icon,
  label,
  part,
  act,
  text = false,
}: {
  icon: IconName;
  label: string;
  part: string;
  act: () => void;
  text?: boolean;
}): VNode {
  return (
    <button type="button" class="tool-button" title={label} aria-label={label} data-part={part} onClick={act}>
      <Icon name={icon} />
      {text && <span class="tool-text">{label}</span>}
    </button>
  );
}

/** How long a part that was not drawn yet may take until its line is there. */
const TRIES = 40;

/** Scrolls to the first line of a run of changes, and marks it for a moment. */
async function showPlace(body: HTMLElement, place: Place): Promise<void> {
  const file = body.querySelectorAll<HTMLElement>("[data-file]")[place.file];
  const part = file?.querySelector<HTMLElement>(`[data-diff-part="${place.part}"]`);
  if (part === null || part === undefined) return;
  part.scrollIntoView({ block: "nearest" });
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    const line = lineIn(part, place);
    if (line !== null) {
      line.scrollIntoView({ block: "center" });
      line.animate?.([{ outline: "2px solid var(--accent, #888)" }, { outline: "2px solid transparent" }], 900);
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function lineIn(part: HTMLElement, place: Place): HTMLElement | null {
  const root = part.querySelector("diffs-container")?.shadowRoot;
  const kind = place.side === "added" ? "addition" : "deletion";
  if (root) return root.querySelector(`[data-content] [data-line-type="change-${kind}"][data-line="${place.line}"]`);
  return part.querySelector(`[data-line-type="${place.side}"][data-line="${place.line}"]`);
}
