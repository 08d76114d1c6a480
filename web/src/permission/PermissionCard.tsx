import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Collapse } from "../app/Collapse.js";
import { Icon } from "../app/Icon.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { FileBody, FileLine, Warnings } from "../card/FileLine.js";
import type { Standing } from "../card/form.js";
import { messages } from "../i18n/language.js";
import { said } from "../i18n/said.js";
import { Foreign } from "../text/Foreign.js";
import { visible, visibleProse } from "../text/visible.js";
import { Fold } from "../transcript/Fold.js";
import { keeping, useReading } from "../transcript/reading.js";
import { titleOf } from "../transcript/title.js";
import { api, problemOf } from "../wire/api.js";
import type { Change, PermissionRow, Problem } from "../wire/rows.js";
import { isAskedAgain } from "./changed.js";
import { commandOf, shortOf } from "./command.js";

/** Characters of a title that stand on one line. */
const TITLE_CHARACTERS = 160;

/** A question: all of what would be done first, then the buttons. */
export function PermissionCard({ row }: { row: PermissionRow }): VNode {
  const t = messages().permission;
  const { session } = useReading();
  const open = row.outcome === null;
  const { changes, problem } = useWhole(row, open);
  const files = new Set(row.changes.map((change) => change.path)).size;
  const standing = standingOf(row);
  const asking = session.book.row(`tool:${row.turn}:${row.call}`)?.value;
  const title = titleOf(asking?.kind === "tool" ? asking : undefined, row.title);
  const questions = session.book.questionsOf(row.turn, row.call);
  const again = questions.some((other) => isAskedAgain(other, row));
  const outdated = questions.some((other) => isAskedAgain(row, other));
  const proposals = changes.map((change, at) => (
    <Proposed
      key={`${at} ${change.path}`}
      name={`${row.id}#${at}`}
      change={change}
      standing={standing}
      silent={isAllowed(row)}
      start={open || changes.length === 1}
    />
  ));
  const count = row.changes.length > 1 && (
    <p class="quiet-word" data-part="permission-count">
      {t.changes(row.changes.length, files)}
    </p>
  );
  // A command is read whole before it is answered, as the lines that it is; so is any title that is not short.
  const command = commandOf(asking?.kind === "tool" ? asking : undefined);
  const long = row.title.length > TITLE_CHARACTERS || row.title.includes("\n");
  const whole = [command, long ? row.title : null].filter((text) => text !== null);
  if (!open) {
    return (
      <Settled row={row} title={shortOf(title, command, TITLE_CHARACTERS)} outdated={outdated}>
        {proposals.length === 0 ? null : [count, ...proposals]}
      </Settled>
    );
  }
  return (
    <div
      role="group"
      class="permission"
      data-part="permission"
      data-request={row.request}
      data-outcome="open"
      tabIndex={-1}
      aria-label={`${t.title}: ${visible(title)}`}
    >
      <p class="permission-title">
        <Icon name="lock" />
        <strong>{t.waiting}</strong>
        {!long && !command?.startsWith(row.title) && <Foreign text={title} />}
      </p>
      {[...new Set(whole)].map((text) => (
        <pre key={text} class="output" tabIndex={0} data-part="whole-title">
          {visibleProse(text)}
        </pre>
      ))}
      {(again || row.note !== "") && (
        <p class="warning" data-part={again ? "asked-again" : "question-note"}>
          <Icon name="warning" />
          {again ? t.again : visibleProse(said(row.note) ?? row.note)}
        </p>
      )}
      {count}
      {proposals}
      {problem !== null && <ProblemNote problem={problem} lead={t.noPreview} />}
      <Buttons row={row} ready={changes.every((change) => !change.hunks_omitted)} />
    </div>
  );
}

/** What became of a question, on one line; what had been asked for stays readable under it. */
function Settled({
  row,
  title,
  outdated,
  children,
}: {
  row: PermissionRow;
  title: string;
  /** It was allowed for a state of the file that is no more, and nothing was written. */
  outdated: boolean;
  children: ComponentChildren;
}): VNode {
  const t = messages().permission;
  const words = (
    <>
      <Icon name="lock" />
      <span class="outcome">{t.outcomes[row.outcome ?? ""] ?? visible(row.outcome ?? "")}</span>
      {row.by !== null && row.by !== "" && (
        <span>
          {said(row.by, t.answerers) ?? (
            <>
              {t.by} <Foreign text={row.by} />
            </>
          )}
        </span>
      )}
      {outdated && <span class="attention">{t.outdated}</span>}
      <span class="ellipsis">
        <Foreign text={title} />
      </span>
    </>
  );
  return (
    <div
      class="permission-settled"
      data-part="permission"
      data-request={row.request}
      data-outcome={row.outcome ?? "open"}
    >
      {children === null ? (
        <p class="fold-head">{words}</p>
      ) : (
        <Fold name={`asked:${row.id}`} class="asked" title={words}>
          {() => children}
        </Fold>
      )}
    </div>
  );
}

function isAllowed(row: PermissionRow): boolean {
  return row.outcome?.startsWith("allow") ?? false;
}

function standingOf(row: PermissionRow): Standing {
  switch (row.outcome) {
    case "reject":
      return "rejected";
    case "cancelled":
    case "unavailable":
      return "cancelled";
    default:
      // What an allowed change became is on the card of its call.
      return "proposed";
  }
}

/** The row's changes with nothing left out. */
function useWhole(row: PermissionRow, open: boolean): { changes: readonly Change[]; problem: Problem | null } {
  const { session } = useReading();
  const [whole, setWhole] = useState<{ revision: number; changes: readonly Change[] } | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const wanted = open && row.changes.some((change) => change.hunks_omitted);
  useEffect(() => {
    if (!wanted) return;
    let left = false;
    api.row(session.id, row.id).then(
      (found) => {
        if (!left && found.row.kind === "permission") setWhole({ revision: row.revision, changes: found.row.changes });
      },
      (error: unknown) => {
        if (!left) setProblem(problemOf(error));
      },
    );
    return () => {
      left = true;
    };
  }, [session.id, row.id, row.revision, wanted]);
  return { changes: whole?.changes ?? row.changes, problem };
}

function Proposed({
  name,
  change,
  standing,
  silent,
  start,
}: {
  name: string;
  change: Change;
  standing: Standing;
  silent: boolean;
  start: boolean;
}): VNode {
  const { session, keeper } = useReading();
  const head = useRef<HTMLDivElement>(null);
  const open = session.choices.choice(`proposed:${name}:${start}`) ?? start;
  const toggle = (): void =>
    keeping(keeper(), head.current, () => session.choices.choose(`proposed:${name}:${start}`, !open));
  return (
    <div class="file" data-file={change.path} data-standing={standing} data-open={open}>
      <div ref={head} class="card-head" data-anchor>
        <button type="button" class="card-toggle" aria-expanded={open} onClick={toggle} data-part="card-toggle">
          <Icon name="chevron" />
          <FileLine change={change} standing={standing} silent={silent} />
        </button>
      </div>
      <Warnings change={change} />
      <Collapse open={open}>{() => <FileBody change={change} />}</Collapse>
    </div>
  );
}

function Buttons({ row, ready }: { row: PermissionRow; ready: boolean }): VNode {
  const t = messages();
  const { session } = useReading();
  const [answering, setAnswering] = useState<string | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [late, setLate] = useState(false);
  const readOnly = session.state.value?.runs === "elsewhere";
  const own = useRef<HTMLDivElement>(null);
  const answered = useRef(false);
  // The button in focus goes with the question: the next question gets the focus, or else the prompt.
  useEffect(() => {
    return () => {
      if (!answered.current) return;
      requestAnimationFrame(() => {
        if (document.activeElement !== document.body) return;
        const next = document.querySelector<HTMLElement>("[data-part=permission][data-outcome=open]");
        (next ?? document.getElementById("prompt"))?.focus();
      });
    };
  }, []);
  const answer = async (option: string): Promise<void> => {
    answered.current = true;
    setAnswering(option);
    setProblem(null);
    try {
      setLate(!(await api.answer(session.id, row.request, option)).settled);
    } catch (error) {
      answered.current = false;
      setProblem(problemOf(error));
      requestAnimationFrame(() => {
        own.current?.querySelector<HTMLElement>(`[data-option="${CSS.escape(option)}"]`)?.focus();
      });
    } finally {
      setAnswering(null);
    }
  };
  if (readOnly) return <p class="quiet-word">{t.composer.readOnly}</p>;
  return (
    <>
      <div ref={own} class="buttons" role="group" aria-label={t.permission.title}>
        {row.options.map((option) => {
          const allows = option.kind.startsWith("allow");
          return (
            <button
              key={option.id}
              type="button"
              class={option.kind === "allow_once" ? "button primary" : "button"}
              data-part="permission-option"
              data-option={option.id}
              data-kind={option.kind}
              // Nobody allows what they cannot read yet.
              disabled={answering !== null || (allows && !ready)}
              onClick={() => void answer(option.id)}
            >
              {answering === option.id
                ? t.permission.answering
                : (t.permission.options[option.id] ?? visible(option.name))}
            </button>
          );
        })}
        {!ready && <span class="quiet-word">{t.app.loading}</span>}
      </div>
      {late && <p class="quiet-word">{t.permission.late}</p>}
      {problem !== null && <ProblemNote problem={problem} lead={t.permission.failed} />}
    </>
  );
}
