import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isTooLongToColour } from "../card/change.js";
import { messages } from "../i18n/language.js";
import { diffStyle, diffView, diffWrap, theme } from "../settings/settings.js";
import { visible } from "../text/visible.js";
import type { Change } from "../wire/rows.js";
import { DiffTable } from "./DiffTable.js";
import { metadataOf, type Sides } from "./metadata.js";
import { useNear } from "./near.js";
import { type Part, partsOf } from "./parts.js";
import { enqueue } from "./queue.js";
import { holdsSelection } from "./selection.js";
import { mountViewer, type Viewer, type ViewerLook } from "./viewer.js";

/** The lines of a change, drawn where the reader is. `sides`: both texts in whole, to show what is between hunks. */
export function DiffView({ change, sides = null }: { change: Change; sides?: Sides | null }): VNode {
  const parts = useMemo(() => partsOf(change), [change]);
  const label = messages().diff.label(visible(change.name));
  const plain = diffView.value === "table" || isTooLongToColour(change);
  return (
    <div class="diff" data-part="diff" data-style={diffStyle.value}>
      {parts.map((part, at) =>
        plain ? (
          <PlainPart key={at} part={part} at={at} label={label} />
        ) : (
          <ColouredPart key={at} part={part} at={at} label={label} sides={sides} />
        ),
      )}
    </div>
  );
}

/** Pixels of a line, and of the bar between two hunks, in the viewer: an estimate for what was never drawn. */
const LINE = 20;
const BAR = 28;

function heightOf(part: Part): number {
  return part.lines * LINE + part.change.hunks.length * BAR;
}

function PlainPart({ part, at, label }: { part: Part; at: number; label: string }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const near = useNear(box);
  const height = useRef(heightOf(part));
  useEffect(() => {
    if (near && box.current !== null) height.current = box.current.offsetHeight;
  });
  return (
    <div ref={box} class="diff-part" data-diff-part={at} style={near ? {} : { height: `${height.current}px` }}>
      {near && <DiffTable change={part.change} after={part.after} label={label} />}
    </div>
  );
}

function ColouredPart({
  part,
  at,
  label,
  sides,
}: {
  part: Part;
  at: number;
  label: string;
  sides: Sides | null;
}): VNode {
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const near = useNear(box);
  const viewer = useRef<Viewer | null>(null);
  const height = useRef(heightOf(part));
  const [drawn, setDrawn] = useState(false);
  const [failed, setFailed] = useState(false);
  // A viewer that holds what the reader selected stays, also out of view.
  const [held, setHeld] = useState(false);
  const wanted = near || held;
  const look: ViewerLook = {
    style: diffStyle.value,
    wrap: diffWrap.value === "wrap",
    numbers: part.change.anchored,
    words: !part.cut,
    theme: theme.value,
  };
  const latest = useRef(look);
  latest.current = look;

  useEffect(() => {
    const wrapper = inner.current;
    if (!wanted || failed || wrapper === null) return;
    const stop = new AbortController();
    const withdraw = enqueue(async () => {
      try {
        const data = metadataOf(part.change, sides, part);
        const mounted = await mountViewer(wrapper, data, latest.current, stop.signal);
        viewer.current = mounted;
        setDrawn(true);
      } catch (error) {
        if (stop.signal.aborted) return;
        console.error("The viewer could not draw a change", error);
        setFailed(true);
      }
    });
    return () => {
      withdraw();
      if (box.current !== null && viewer.current !== null) height.current = box.current.offsetHeight;
      viewer.current = null;
      setDrawn(false);
      stop.abort();
    };
  }, [wanted, failed, part, sides]);

  useEffect(() => {
    viewer.current?.setLook(latest.current);
  }, [look.style, look.wrap, look.numbers, look.theme]);

  useEffect(() => {
    if (near) {
      setHeld(false);
      return;
    }
    const check = (): void => setHeld(viewer.current !== null && holdsSelection(viewer.current.host));
    document.addEventListener("selectionchange", check);
    return () => document.removeEventListener("selectionchange", check);
  }, [near]);
  // Before the viewer is taken away, not after.
  if (!near && !held && viewer.current !== null && holdsSelection(viewer.current.host)) setHeld(true);

  return (
    <div
      ref={box}
      class="diff-part"
      role="group"
      aria-label={label}
      data-diff-part={at}
      data-drawn={drawn}
      style={drawn || failed ? {} : { minHeight: `${height.current}px` }}
    >
      <div ref={inner} class="diff-host" />
      {failed && (
        <>
          <p class="diff-note">{messages().diff.plainNote}</p>
          <DiffTable change={part.change} after={part.after} label={label} />
        </>
      )}
    </div>
  );
}
