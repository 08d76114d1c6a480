import type { VNode } from "preact";
import { Icon, type IconName } from "../app/Icon.js";
import { Original, ProblemNote, wordsOf } from "../app/ProblemNote.js";
import { Card } from "../card/Card.js";
import { cardOfFound, cardOfUndo } from "../card/form.js";
import { formatTime, messages } from "../i18n/language.js";
import { said } from "../i18n/said.js";
import { Markdown } from "../markdown/Markdown.js";
import { NetChanges } from "../net/NetChanges.js";
import { PermissionCard } from "../permission/PermissionCard.js";
import { Foreign } from "../text/Foreign.js";
import { visible, visibleProse } from "../text/visible.js";
import type {
  AgentRow,
  FoundRow,
  NoticeRow,
  OtherRow,
  PlanRow,
  RevertRow,
  Row,
  ThoughtRow,
  TurnEndRow,
  UserRow,
} from "../wire/rows.js";
import { Blocks } from "./Blocks.js";
import { Fold } from "./Fold.js";
import { Long } from "./Long.js";
import { ToolCall } from "./ToolCall.js";
import { titleOf } from "./title.js";

/** What a row holds, by its kind. */
export function RowContent({ row }: { row: Row }): VNode {
  switch (row.kind) {
    case "user":
      return <User row={row} />;
    case "agent":
      return <Agent row={row} />;
    case "thought":
      return <Thought row={row} />;
    case "tool":
      return <ToolCall row={row} />;
    case "revert":
      return <Revert row={row} />;
    case "found":
      return <Found row={row} />;
    case "plan":
      return <Plan row={row} />;
    case "permission":
      return <PermissionCard row={row} />;
    case "notice":
      return <Notice row={row} />;
    case "turn_end":
      return <TurnEnd row={row} />;
    default:
      return <Other row={row} />;
  }
}

/** For a screen reader that walks from row to row. */
export function rowLabel(row: Row): string {
  const t = messages();
  switch (row.kind) {
    case "user":
      return t.row.you;
    case "agent":
      return t.row.agent;
    case "thought":
      return t.row.thought;
    case "tool":
      return `${visible(titleOf(row))}: ${t.status[row.status]}`;
    case "revert":
      return t.row.revert;
    case "found":
      return t.row.found;
    case "plan":
      return t.row.plan;
    case "permission":
      return t.permission.title;
    case "notice":
      return row.level === "info" ? t.row.notice : row.level === "warning" ? t.row.warning : t.row.error;
    case "turn_end":
      return t.end[row.reason];
    default:
      return t.row.other[row.why];
  }
}

function User({ row }: { row: UserRow }): VNode {
  return (
    <div class="user">
      <div class="user-text">
        <Long text={row.text} name={row.id} />
      </div>
      <Blocks blocks={row.attachments} />
      <time class="row-time" dateTime={new Date(row.at).toISOString()}>
        {formatTime(row.at)}
      </time>
    </div>
  );
}

function Agent({ row }: { row: AgentRow }): VNode {
  return <Markdown text={row.text} covered={row.covered_fences} />;
}

function Thought({ row }: { row: ThoughtRow }): VNode {
  const t = messages().row;
  const first = visible(row.text.trim().split("\n", 1)[0] ?? "").replace(/[*_`#]/g, "");
  return (
    <Fold
      name={`thought:${row.id}`}
      class="thought"
      title={
        <>
          <span class="quiet-word">{t.thought}</span> <span class="ellipsis">{first}</span>
        </>
      }
    >
      {() => <Markdown text={row.text} />}
    </Fold>
  );
}

function Revert({ row }: { row: RevertRow }): VNode {
  const t = messages().row;
  const plan = cardOfUndo(row);
  return (
    <>
      <Label icon="undo" text={t.revert} note={row.reverted ? t.revertUndone : ""} />
      {row.changes.length > 0 && <Card plan={plan} row={row.id} turn={row.turn} call={row.call} />}
    </>
  );
}

function Found({ row }: { row: FoundRow }): VNode {
  const t = messages().row;
  const plan = cardOfFound(row);
  const text = row.during.length > 0 ? t.foundDuring(row.during.map(visible).join(", ")) : t.found;
  return (
    <>
      <Label icon="search" text={text} note="" />
      {row.changes.length > 0 && <Card plan={plan} row={row.id} turn={row.turn} call={null} />}
    </>
  );
}

const PLAN_ICONS: Record<string, IconName> = { completed: "check", in_progress: "chevron", pending: "dot" };

function Plan({ row }: { row: PlanRow }): VNode {
  const t = messages().row;
  return (
    <div class="plan">
      <p class="quiet-word">{t.plan}</p>
      <ul>
        {row.entries.map((entry, at) => (
          <li key={at} data-status={entry.status}>
            <Icon name={PLAN_ICONS[entry.status] ?? "dot"} />
            <span class="visually-hidden">{t.planStatus[entry.status] ?? entry.status}: </span>
            <Foreign text={entry.content} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Notice({ row }: { row: NoticeRow }): VNode {
  if (row.level === "error") return <ProblemNote problem={row.problem} />;
  const { text, remedy, original } = wordsOf(row.problem);
  return (
    <div class={`notice notice-${row.level}`} data-part="notice" data-code={row.problem.code}>
      <Icon name={row.level === "warning" ? "warning" : "dot"} />
      <div>
        <p>
          {visibleProse(text)} {remedy !== "" && <span class="quiet-word">{visibleProse(remedy)}</span>}
        </p>
        <Original text={original} />
      </div>
    </div>
  );
}

function TurnEnd({ row }: { row: TurnEndRow }): VNode {
  const t = messages().end;
  const used = row.input_tokens + row.output_tokens > 0 ? t.tokens(row.input_tokens, row.output_tokens) : "";
  const cost = row.cost === null ? "" : `${row.partial ? "≥ " : ""}$${row.cost.toFixed(row.cost < 0.1 ? 4 : 2)}`;
  const notes = [t[row.reason], row.models.map(visible).join(", "), used, cost].filter((note) => note !== "");
  return (
    <div class="turn-end" data-reason={row.reason}>
      {row.error !== null && <ProblemNote problem={row.error} />}
      <NetChanges row={row} />
      <p class="turn-facts">
        {notes.map((note) => (
          <span key={note}>{note}</span>
        ))}
      </p>
    </div>
  );
}

function Other({ row }: { row: OtherRow }): VNode {
  return <Label icon="question" text={messages().row.other[row.why]} note={said(row.title) ?? row.title} />;
}

/** One quiet line: a picture, words of ours, and words of somebody else's. */
function Label({ icon, text, note }: { icon: IconName; text: string; note: string }): VNode {
  return (
    <p class="label">
      <Icon name={icon} />
      <span>{text}</span> {note !== "" && <Foreign text={note} />}
    </p>
  );
}
