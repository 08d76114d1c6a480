import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../app/Icon.js";
import { Counts, Diffstat } from "../card/Counts.js";
import { countsOfTotal, sumOf } from "../card/change.js";
import { PathText } from "../card/FileLine.js";
import { messages } from "../i18n/language.js";
import { showInPanel, undoWish } from "../panel/target.js";
import { shortenedMiddle } from "../text/clip.js";
import { visible } from "../text/visible.js";
import { keeping, useReading } from "../transcript/reading.js";
import type { NetTotal, TurnEndRow } from "../wire/rows.js";

/** Chips that are shown without being asked. */
const FIRST = 8;

/** What a turn did to each file, from its first state to its last, as chips under the reply. */
export function NetChanges({ row }: { row: TurnEndRow }): VNode | null {
  const t = messages();
  const { session, keeper } = useReading();
  const head = useRef<HTMLParagraphElement>(null);
  if (row.net.length === 0) return null;
  const key = `net:${row.id}`;
  const all = session.choices.choice(key) ?? false;
  const shown = all ? row.net : row.net.slice(0, FIRST);
  const rest = row.net.length - FIRST;
  return (
    <div class="net" role="group" aria-label={t.net.label} data-part="net">
      <p ref={head} class="net-head">
        <span>{t.net.total(row.net.length)}</span>
        <Counts counts={sumOf(row.net.map((total) => countsOfTotal(total, row.partial)))} />
        {session.book.isUndone(row.turn) ? (
          <span data-part="turn-undone">{t.standing.reverted}</span>
        ) : (
          <button
            type="button"
            class="link-button"
            data-part="undo-turn"
            onClick={() => {
              undoWish.value = { selection: { turn: row.turn, call: null, path: null, hunk: null }, change: null };
            }}
          >
            <Icon name="undo" />
            {t.undo.turn}
          </button>
        )}
      </p>
      {row.partial && <p class="quiet-word">{t.net.partial}</p>}
      <ul class="chips">
        {shown.map((total) => (
          <li key={total.path}>
            <Chip total={total} row={row} />
          </li>
        ))}
        {rest > 0 && (
          <li>
            <button
              type="button"
              class="link-button"
              aria-expanded={all}
              data-part="more-chips"
              onClick={() => keeping(keeper(), head.current, () => session.choices.choose(key, !all))}
            >
              {all ? t.net.fewer : t.net.more(rest)}
            </button>
          </li>
        )}
      </ul>
    </div>
  );
}

/** Characters of a name that a chip holds. */
const NAME_CHARACTERS = 56;

function Chip({ total, row }: { total: NetTotal; row: TurnEndRow }): VNode {
  const t = messages().net;
  const counts = countsOfTotal(total, row.partial);
  const words = total.facts.map((fact) => messages().card.facts[fact]);
  if (total.operation !== "modify") words.unshift(t.operations[total.operation]);
  return (
    <button
      type="button"
      class="chip"
      title={visible(total.path)}
      data-part="net-chip"
      data-path={total.path}
      data-operation={total.operation}
      onClick={() => showInPanel({ kind: "net", turn: row.turn, path: total.path })}
    >
      {total.old_name !== null && total.old_name !== total.name && (
        <>
          <PathText path={shortenedMiddle(total.old_name, NAME_CHARACTERS)} />
          <span class="arrow"> → </span>
        </>
      )}
      <PathText path={shortenedMiddle(total.name, NAME_CHARACTERS)} />
      {words.map((word) => (
        <span key={word} class="fact">
          {word}
        </span>
      ))}
      {total.file_type === "binary" ? <span class="fact">{t.binary}</span> : <Counts counts={counts} />}
      <Diffstat counts={counts} />
      <span class="visually-hidden">{t.open(visible(total.name))}</span>
    </button>
  );
}
