import type { ComponentChildren, VNode } from "preact";
import { useRef } from "preact/hooks";
import { Collapse } from "../app/Collapse.js";
import { Icon } from "../app/Icon.js";
import { keeping, useReading } from "./reading.js";

/** A line that opens what is under it, and remembers that it did. */
export function Fold({
  name,
  class: kind,
  title,
  start = false,
  children,
}: {
  /** Names the choice. */
  name: string;
  class: string;
  title: ComponentChildren;
  start?: boolean;
  children: () => ComponentChildren;
}): VNode {
  const { session, keeper } = useReading();
  const head = useRef<HTMLButtonElement>(null);
  const open = session.choices.choice(name) ?? start;
  return (
    <div class={`fold ${kind}`} data-open={open}>
      <button
        ref={head}
        type="button"
        class="fold-head"
        aria-expanded={open}
        data-part="fold"
        data-anchor
        onClick={() => keeping(keeper(), head.current, () => session.choices.choose(name, !open))}
      >
        <Icon name="chevron" />
        {title}
      </button>
      <Collapse open={open}>{() => <div class="fold-body">{children()}</div>}</Collapse>
    </div>
  );
}
