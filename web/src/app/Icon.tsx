import type { VNode } from "preact";

/** Drawn on a grid of 16; strokes take the colour of the text. */
const PATHS = {
  chevron: "M6 4l4 4-4 4",
  close: "M4 4l8 8M12 4l-8 8",
  panel: "M2.5 3h11v10h-11zM9.5 3v10",
  file: "M4 2h5l3 3v9H4zM9 2v3h3",
  plus: "M8 3v10M3 8h10",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM10 10l3.5 3.5",
  send: "M8 13V3M4 7l4-4 4 4",
  stop: "M4.5 4.5h7v7h-7z",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  settings: "M3 5h5M11 5h2M9.5 3.5v3M3 11h2M8 11h5M6.5 9.5v3",
  undo: "M5 3L2.5 5.5 5 8M2.5 5.5H9a4 4 0 0 1 0 8H6",
  copy: "M5.5 5.5h7v8h-7zM3.5 10.5v-8h7",
  download: "M8 2.5v7M5 7l3 3 3-3M3 13h10",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  check: "M3 8.5l3.5 3.5L13 4.5",
  cross: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  warning: "M8 2.5l6 11H2zM8 7v3M8 11.8v.2",
  question: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12v.2",
  dot: "M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z",
  slash: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM4.2 4.2l7.6 7.6",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  keyboard: "M1.5 4h13v8h-13zM4 7h.2M7 7h.2M10 7h.2M12 7h.2M5 9.7h6",
  wrap: "M2.5 4h11M2.5 8h8.5a2 2 0 0 1 0 4H8M9.5 10.5L8 12l1.5 1.5",
} as const;

export type IconName = keyof typeof PATHS;

/** A picture beside words; it says nothing by itself. */
export function Icon({ name }: { name: IconName }): VNode {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
