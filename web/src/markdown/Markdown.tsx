import { signal } from "@preact/signals";
import { Component, createRef, type VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { drawFences } from "../diff/fence.js";
import { messages } from "../i18n/language.js";
import { visibleProse } from "../text/visible.js";
import { blocksOf, definitionsOf } from "./blocks.js";
import type { FenceWords } from "./render.js";

type Renderer = typeof import("./render.js");

/** Null until the renderer is here, and for good where it cannot be loaded: text is shown plainly then. */
const renderer = signal<Renderer | null>(null);

/** Begins to load what draws Markdown. */
export function loadMarkdown(): void {
  import("./render.js").then(
    (loaded) => {
      renderer.value = loaded;
    },
    () => {},
  );
}

const NONE: ReadonlySet<number> = new Set();

/** Text of a model, as Markdown. `covered`: the lines on which diffs begin that a card shows already. */
export function Markdown({ text, covered }: { text: string; covered?: readonly number[] }): VNode {
  const shown = usePaced(text);
  const blocks = useMemo(() => blocksOf(visibleProse(shown)), [shown]);
  const definitions = useMemo(() => definitionsOf(shown), [shown]);
  const lines = useMemo(() => (covered?.length ? new Set(covered) : NONE), [covered]);
  const render = renderer.value;
  const { covered: coveredWord, written } = messages().fence;
  const words = useMemo(() => ({ covered: coveredWord, written }), [coveredWord, written]);
  return (
    <div class="md" data-part="markdown">
      {blocks.map((block) => (
        <Piece
          key={block.line}
          source={block.source}
          line={block.line}
          covered={lines}
          definitions={definitions}
          words={words}
          render={render}
        />
      ))}
    </div>
  );
}

interface PieceProps {
  source: string;
  line: number;
  covered: ReadonlySet<number>;
  definitions: string;
  words: FenceWords;
  render: Renderer | null;
}

/** Drawn again only when something of it changed: a text that is being written changes at its end. */
class Piece extends Component<PieceProps> {
  readonly #box = createRef<HTMLDivElement>();
  #leave: () => void = () => {};

  override componentDidMount(): void {
    this.#drawFences();
  }

  override componentDidUpdate(): void {
    this.#leave();
    this.#drawFences();
  }

  override componentWillUnmount(): void {
    this.#leave();
  }

  #drawFences(): void {
    const box = this.#box.current;
    this.#leave = box === null ? () => {} : drawFences(box);
  }

  override shouldComponentUpdate(next: PieceProps): boolean {
    const now = this.props;
    return (Object.keys(next) as (keyof PieceProps)[]).some((name) => next[name] !== now[name]);
  }

  override render({ source, line, covered, definitions, words, render }: PieceProps): VNode {
    const environment = render?.environmentOf(definitions);
    const markup =
      render === null || environment === undefined ? null : render.markupOf(source, environment, line, covered, words);
    if (markup === null) return <div class="md-plain">{source}</div>;
    return <div ref={this.#box} class="md-block" dangerouslySetInnerHTML={{ __html: markup }} />;
  }
}

/** How many times as long as a drawing takes the next one waits: what is left of the time belongs to the reader. */
const SHARE = 4;

/** The text, as often as drawing it leaves the page time for other things. */
function usePaced(text: string): string {
  const [shown, setShown] = useState(text);
  const latest = useRef(text);
  latest.current = text;
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const started = performance.now();
  useEffect(() => {
    if (shown === latest.current || timer.current !== undefined) return;
    const wait = text.length < 4_000 ? 0 : Math.min(1_000, (performance.now() - started) * SHARE);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      setShown(latest.current);
    }, wait);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  return text.length < 4_000 ? text : shown;
}
