import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { messages } from "../i18n/language.js";
import { clip } from "../text/clip.js";
import { visibleProse } from "../text/visible.js";
import { keeping, useReading } from "./reading.js";

const LINES = 40;
const CHARACTERS = 6_000;

/** Text of somebody else: the beginning of it where it is very long, and all of it when asked for. */
export function Long({ text, name }: { text: string; name: string }): VNode {
  const t = messages().row;
  const { session, keeper } = useReading();
  const box = useRef<HTMLDivElement>(null);
  const short = clip(text, LINES, CHARACTERS);
  const key = `long:${name}`;
  const open = short === null || (session.choices.choice(key) ?? false);
  return (
    <div ref={box} class="long">
      {visibleProse(open ? text : (short ?? text))}
      {short !== null && (
        <button
          type="button"
          class="link-button"
          aria-expanded={open}
          data-part="long-toggle"
          onClick={() => keeping(keeper(), box.current, () => session.choices.choose(key, !open))}
        >
          {open ? t.showLess : t.showAll}
        </button>
      )}
    </div>
  );
}
