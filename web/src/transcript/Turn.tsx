import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Boundary } from "../app/Boundary.js";
import { Collapse } from "../app/Collapse.js";
import { Icon } from "../app/Icon.js";
import { messages } from "../i18n/language.js";
import type { Section } from "./book.js";
import { collapsedOf, type Item, itemsOf } from "./items.js";
import { keeping, useReading } from "./reading.js";
import { RowContent, rowLabel } from "./rows.js";

/** A turn: its rows, its steps folded, or all but what must stay collapsed. */
export function Turn({ section }: { section: Section }): VNode {
  const t = messages().steps;
  const { session, keeper } = useReading();
  const head = useRef<HTMLDivElement>(null);
  const shapes = session.book.shapes(section.ids.value);
  const ended = shapes.some((shape) => shape.kind === "turn_end");
  const name = `turn:${section.key}`;
  const collapsed = (session.choices.choice(name) ?? false) && ended;
  const { items, hidden } = collapsed ? collapsedOf(shapes) : { items: itemsOf(shapes), hidden: 0 };
  const steps = shapes.filter((shape) => !shape.stays).length;
  // Below the prompt, if the turn begins here.
  const first = items[0];
  const prompt = first?.kind === "row" && shapes[0]?.kind === "user" ? first.id : null;
  const rest = prompt === null ? items : items.slice(1);
  return (
    <section class="turn" data-turn={section.turn} data-collapsed={collapsed}>
      {prompt !== null && <RowBox id={prompt} />}
      {ended && (collapsed || steps > 2) && (
        <div ref={head} class="turn-head" data-anchor>
          <button
            type="button"
            class="link-button"
            aria-expanded={!collapsed}
            data-part="collapse-all"
            onClick={() => keeping(keeper(), head.current, () => session.choices.choose(name, !collapsed))}
          >
            {collapsed ? t.expand(hidden) : t.collapse}
          </button>
        </div>
      )}
      {rest.map((item) =>
        item.kind === "row" ? (
          <RowBox key={item.id} id={item.id} />
        ) : (
          <Steps key={`steps:${item.ids[0]}`} item={item} ended={ended} />
        ),
      )}
    </section>
  );
}

/** A run of steps under one line. It folds when the turn has ended, unless the reader said otherwise. */
function Steps({ item, ended }: { item: Extract<Item, { kind: "steps" }>; ended: boolean }): VNode {
  const t = messages().steps;
  const { session, keeper } = useReading();
  const head = useRef<HTMLButtonElement>(null);
  // More steps may join at either end; the choice stays with any of its rows.
  const names = item.ids.map((id) => `steps:${id}`);
  const chosen = names.map((name) => session.choices.choice(name)).find((choice) => choice !== null);
  const open = chosen ?? !ended;
  const toggle = (): void =>
    keeping(keeper(), head.current, () => {
      const known = names.filter((name) => session.choices.choice(name) !== null);
      for (const name of known.length > 0 ? known : names.slice(0, 1)) session.choices.choose(name, !open);
    });
  return (
    <div class="fold steps" data-part="steps" data-open={open}>
      <button ref={head} type="button" class="fold-head" aria-expanded={open} data-anchor onClick={toggle}>
        <Icon name="chevron" />
        <span>{t.calls(item.calls)}</span>
      </button>
      <Collapse open={open}>
        {() => (
          <div class="steps-body">
            {item.ids.map((id) => (
              <RowBox key={id} id={id} />
            ))}
          </div>
        )}
      </Collapse>
    </div>
  );
}

/** One row, drawn again only when it changes itself. */
function RowBox({ id }: { id: string }): VNode | null {
  const { session } = useReading();
  const row = session.book.row(id)?.value;
  if (row === undefined) return null;
  return (
    <article
      class={`row row-${row.kind}`}
      data-row={id}
      data-kind={row.kind}
      data-status={row.kind === "tool" ? row.status : undefined}
      tabIndex={-1}
      aria-label={rowLabel(row)}
    >
      <Boundary part={`row ${id}`} message={messages().app.rowFault} version={row.revision}>
        <RowContent row={row} />
      </Boundary>
    </article>
  );
}
