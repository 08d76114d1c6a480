/** How the rows of a turn are put together for reading: which steps fold into one line, and what stays in any case. */

/** All that folding has to know of a row; it changes seldom, while the row's text may change many times a second. */
export interface Shape {
  id: string;
  kind: string;
  /** See `mustStay`. */
  stays: boolean;
  /** Characters of an agent's text. */
  size: number;
}

export type Item = { kind: "row"; id: string } | { kind: "steps"; ids: string[]; calls: number };

/** Characters that make a text long enough to be a turn's conclusion. */
const CONCLUSION = 50;

/** Steps that may fold: calls without a change, an error or a question, and the thoughts between them. */
function isStep(shape: Shape): boolean {
  return (shape.kind === "tool" || shape.kind === "thought") && !shape.stays;
}

/** Runs of steps with at least two calls become one foldable group. */
export function itemsOf(shapes: readonly Shape[]): Item[] {
  const items: Item[] = [];
  let run: Shape[] = [];
  const flush = (): void => {
    const calls = run.filter((shape) => shape.kind === "tool").length;
    if (calls >= 2) items.push({ kind: "steps", ids: run.map((shape) => shape.id), calls });
    else for (const shape of run) items.push({ kind: "row", id: shape.id });
    run = [];
  };
  for (const shape of shapes) {
    if (isStep(shape)) run.push(shape);
    else {
      flush();
      items.push({ kind: "row", id: shape.id });
    }
  }
  flush();
  return items;
}

/** What stays when all of a turn is collapsed: what must, the prompt, and the conclusion. */
export function collapsedOf(shapes: readonly Shape[]): { items: Item[]; hidden: number } {
  const conclusion = conclusionOf(shapes);
  const kept = shapes.filter((shape) => shape.stays || shape.id === conclusion);
  return { items: kept.map((shape) => ({ kind: "row", id: shape.id })), hidden: shapes.length - kept.length };
}

/** The last text that is long enough to say something, or else the last one. */
export function conclusionOf(shapes: readonly Shape[]): string | null {
  const texts = shapes.filter((shape) => shape.kind === "agent");
  const telling = texts.filter((shape) => shape.size >= CONCLUSION);
  return (telling.at(-1) ?? texts.at(-1))?.id ?? null;
}
