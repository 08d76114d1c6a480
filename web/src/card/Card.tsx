import type { VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { Collapse } from "../app/Collapse.js";
import { Icon } from "../app/Icon.js";
import { DiffView } from "../diff/DiffView.js";
import { formatBytes, messages } from "../i18n/language.js";
import { showInPanel, undoWish } from "../panel/target.js";
import { cardStart } from "../settings/settings.js";
import { Foreign } from "../text/Foreign.js";
import { visible } from "../text/visible.js";
import { keeping, useReading } from "../transcript/reading.js";
import type { Change } from "../wire/rows.js";
import { Counts } from "./Counts.js";
import { basename, countsOf, type Fact, factsOf, fileForm, sumOf } from "./change.js";
import { type CardPlan, type CardStart, isOnDisk, type Standing } from "./form.js";

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
    <section
      class="card"
      data-card={plan.key}
      data-standing={plan.standing}
      aria-label={messages().row.spokenCard(visible(plan.changes[0].name), messages().standing[plan.standing])}
    >
      <FileCard {...props} change={plan.changes[0]} only />
    </section>
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
    <section
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
    </section>
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
  const reverted = plan.reverted.has(change.path) && plan.standing !== "reverted";
  const standing: Standing = reverted ? "reverted" : plan.standing;
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
      <Collapse open={open}>{() => <FileBody change={change} />}</Collapse>
    </div>
  );
}

/** Verb, name, counts, facts and standing: all that one line says of a change. */
export function FileLine({
  change,
  standing,
  silent = false,
}: {
  change: Change;
  standing: Standing;
  /** Something else says how it stands. */
  silent?: boolean;
}): VNode {
  const t = messages();
  const done = isShownAsDone(standing);
  const notes = factsOf(change).map((fact) => factWord(fact, change));
  if (change.truncated) notes.push(t.card.truncated);
  else if (fileForm(change) === "summary") notes.push(t.card.tooLarge(change.diff_lines));
  return (
    <span class="file-line">
      <span class="verb">{(done ? t.done : t.asked)[change.operation]}</span>{" "}
      <span class="card-name" data-part="file-name">
        {change.old_name !== null && change.old_name !== change.name && (
          <>
            <PathText path={change.old_name} />
            <span class="arrow"> → </span>
          </>
        )}
        <PathText path={change.name} />
      </span>{" "}
      <Counts counts={countsOf(change)} quiet={!isOnDisk(standing)} />
      {notes.map((note) => (
        <span key={note} class="fact">
          {note}
        </span>
      ))}
      {!silent && <StandingWord standing={standing} />}
    </span>
  );
}

/** A path whose folder is quieter than its name. */
export function PathText({ path }: { path: string }): VNode {
  const name = basename(path);
  const folder = path.endsWith(name) ? path.slice(0, path.length - name.length) : "";
  return (
    <span class="path">
      {folder !== "" && (
        <span class="folder">
          <Foreign text={folder} />
        </span>
      )}
      <Foreign text={folder === "" ? path : name} />
    </span>
  );
}

export function StandingWord({ standing }: { standing: Standing }): VNode {
  return (
    <span class={`standing standing-${standing}`} data-part="standing">
      {messages().standing[standing]}
    </span>
  );
}

/** What stands under the line of a change, at its own length: the diff, or why there is none. */
export function FileBody({ change }: { change: Change }): VNode {
  const t = messages().card;
  if (change.hunks.length > 0) {
    return (
      <div class="file-body">
        <DiffView change={change} />
        {change.truncated && <p class="diff-note">{t.cut}</p>}
      </div>
    );
  }
  return <p class="file-body diff-note">{whyEmpty(change)}</p>;
}

export function whyEmpty(change: Change): string {
  const t = messages().card;
  const sizes = [change.before, change.after].filter((side) => side !== null).map((side) => formatBytes(side.size));
  const shown = sizes.length === 2 ? t.becomes(sizes[0] ?? "", sizes[1] ?? "") : (sizes[0] ?? "");
  if (change.file_type === "binary") return t.binarySizes(shown);
  if (change.file_type === "unknown") return shown === "" ? t.noText : `${t.noText} ${shown}`;
  if (change.truncated) return shown === "" ? t.cutWhole : `${t.cutWhole} ${shown}`;
  if (change.operation === "add" && change.after?.size === 0) return t.emptyFile;
  return t.noLines;
}

export function Warnings({ change }: { change: Change }): VNode | null {
  const t = messages().card;
  const kinds = [...change.hidden].sort();
  if (kinds.length === 0) return null;
  return (
    <p class="warning" data-part="hidden-warning">
      <Icon name="warning" />
      {t.hidden(kinds.map((kind) => t.hiddenKinds[kind]).join(", "))}
    </p>
  );
}

function factWord(fact: Fact, change: Change): string {
  const t = messages().card;
  if (fact === "line_endings_changed" && change.before && change.after) {
    return t.lineEnds(t.ends[change.before.eol], t.ends[change.after.eol]);
  }
  return t.facts[fact];
}

/** A verb in the past is for what happened, also where it was taken back later. */
function isShownAsDone(standing: Standing): boolean {
  return isOnDisk(standing) || standing === "reverted";
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
