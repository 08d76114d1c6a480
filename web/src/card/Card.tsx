import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { Collapse } from "../app/Collapse.js";
import { Icon } from "../app/Icon.js";
import { messages } from "../i18n/language.js";
import { showInPanel, undoWish } from "../panel/target.js";
import { cardStart } from "../settings/settings.js";
import { visible } from "../text/visible.js";
import { keeping, useReading } from "../transcript/reading.js";
import type { Change } from "../wire/rows.js";
import { Counts } from "./Counts.js";
import { countsOf, fileForm, sumOf } from "./change.js";
import { FileBody, FileLine, PartsUndone, StandingWord, Warnings } from "./FileLine.js";
import { type CardPlan, type CardStart, isOnDisk, isShownAsDone, standingIn } from "./form.js";

interface CardProps {
  plan: CardPlan;
  /** The row that it belongs to. */
  row: string;
  turn: number;
  /** Of a call: what an undo names. */
  call: string | null;
  /** How it starts, if not as the setting says. */
  start?: CardStart;
}

/** The card of a call's changes: one file, or a row a file with totals. It folds to one line and opens again. */
export function Card(props: CardProps): VNode {
  const { plan } = props;
  return plan.changes.length === 1 && plan.changes[0] !== undefined ? (
    <div
      role="group"
      class="card"
      data-card={plan.key}
      data-standing={plan.standing}
      aria-label={messages().row.spokenCard(visible(plan.changes[0].name), messages().standing[plan.standing])}
    >
      <FileCard {...props} change={plan.changes[0]} only />
    </div>
  ) : (
    <ManyFiles {...props} />
  );
}

/** Files of a card that are listed without being asked. */
const FILES = 50;

function ManyFiles(props: CardProps): VNode {
  const t = messages();
  const { plan, row, turn, call } = props;
  const { session, keeper } = useReading();
  const head = useRef<HTMLDivElement>(null);
  const [shown, setShown] = useState(FILES);
  const start = props.start ?? cardStart.value;
  const open = session.choices.choice(`card:${plan.key}`) ?? start === "full";
  const toggle = (): void => keeping(keeper(), head.current, () => session.choices.choose(`card:${plan.key}`, !open));
  const label = t.card.labelMany(plan.changes.length);
  return (
    <div
      role="group"
      class="card"
      data-card={plan.key}
      data-standing={plan.standing}
      data-open={open}
      aria-label={`${label}: ${t.standing[plan.standing]}`}
    >
      <div ref={head} class="card-head" data-part="card-head" data-anchor>
        <button type="button" class="card-toggle" aria-expanded={open} onClick={toggle} data-part="card-toggle">
          <Icon name="chevron" />
          <span class="card-name">{t.card.files(plan.changes.length)}</span>
          <Counts counts={sumOf(plan.changes.map(countsOf))} quiet={!isOnDisk(plan.standing)} />
          <StandingWord standing={plan.standing} />
        </button>
        <span class="card-actions">
          <PanelButton row={row} path={null} applied={isShownAsDone(plan.standing)} name={label} />
          {call !== null && isOnDisk(plan.standing) && (
            <UndoButton label={t.undo.call} selection={{ turn, call, path: null, hunk: null }} change={null} />
          )}
        </span>
      </div>
      <Collapse open={open}>
        {() => (
          <ul class="card-files">
            {plan.changes.slice(0, shown).map((change) => (
              <li key={`${change.operation} ${change.path}`}>
                <FileCard {...props} change={change} only={false} />
              </li>
            ))}
            {plan.changes.length > shown && (
              <li>
                <button
                  type="button"
                  class="link-button more-files"
                  data-part="more-files"
                  onClick={() => keeping(keeper(), head.current, () => setShown(shown + FILES * 4))}
                >
                  {t.net.more(plan.changes.length - shown)}
                </button>
              </li>
            )}
          </ul>
        )}
      </Collapse>
    </div>
  );
}

/** One file: its line, which is also what is left when it is folded, and its diff. */
function FileCard({
  plan,
  row,
  turn,
  call,
  start,
  change,
  only,
}: CardProps & { change: Change; only: boolean }): VNode {
  const t = messages();
  const { session, keeper } = useReading();
  const head = useRef<HTMLDivElement>(null);
  const key = only ? `card:${plan.key}` : `card:${plan.key}#${change.path}`;
  const summary = fileForm(change) === "summary";
  const setting = start ?? cardStart.value;
  const choice = session.choices.choice(key);
  const open = !summary && (choice ?? setting === "full");
  const quietStart = setting === "none" && !open;
  const standing = standingIn(plan, change);
  const details = (): void =>
    showInPanel({ kind: "row", row, path: change.path, applied: isShownAsDone(plan.standing) });
  const toggle = (): void => keeping(keeper(), head.current, () => session.choices.choose(key, !open));
  const name = visible(change.name);
  return (
    <div
      class={`file ${quietStart ? "file-bare" : ""}`}
      data-file={change.path}
      data-standing={standing}
      data-open={open}
      data-form={summary ? "summary" : "full"}
    >
      <div ref={head} class="card-head" data-part="card-head" data-anchor>
        <button
          type="button"
          class="card-toggle"
          aria-expanded={summary ? undefined : open}
          title={visible(change.path)}
          onClick={summary ? details : toggle}
          data-part={summary ? "card-details" : "card-toggle"}
        >
          <Icon name={summary ? "panel" : "chevron"} />
          <FileLine change={change} standing={standing} />
          {summary && <span class="visually-hidden">. {t.card.openDetails}</span>}
        </button>
        <span class="card-actions">
          {!summary && <PanelButton row={row} path={change.path} applied={isShownAsDone(plan.standing)} name={name} />}
          {call !== null && isOnDisk(standing) && (
            <UndoButton
              label={only ? t.undo.undo : t.undo.file}
              selection={{ turn, call, path: change.path, hunk: null }}
              change={change}
            />
          )}
        </span>
      </div>
      <Warnings change={change} />
      {standing === "partial" && <PartsUndone change={change} hunks={plan.hunks.get(change.path) ?? []} />}
      <Collapse open={open}>{() => <FileBody change={change} />}</Collapse>
    </div>
  );
}

function PanelButton({
  row,
  path,
  applied,
  name,
}: {
  row: string;
  path: string | null;
  applied: boolean;
  name: string;
}): VNode {
  const t = messages().card;
  return (
    <button
      type="button"
      class="icon-button"
      title={t.openDetails}
      aria-label={`${t.openDetails}: ${name}`}
      data-part="open-panel"
      onClick={() => showInPanel({ kind: "row", row, path, applied })}
    >
      <Icon name="panel" />
    </button>
  );
}

function UndoButton({
  label,
  selection,
  change,
}: {
  label: string;
  selection: { turn: number; call: string; path: string | null; hunk: number | null };
  change: Change | null;
}): VNode {
  return (
    <button
      type="button"
      class="icon-button"
      title={label}
      aria-label={label}
      data-part="undo"
      onClick={() => {
        undoWish.value = { selection, change };
      }}
    >
      <Icon name="undo" />
    </button>
  );
}
