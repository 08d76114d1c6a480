import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Collapse } from "../app/Collapse.js";
import { Icon, type IconName } from "../app/Icon.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { Card } from "../card/Card.js";
import { cardsOf } from "../card/form.js";
import { messages } from "../i18n/language.js";
import { said } from "../i18n/said.js";
import { clip, shortenedMiddle } from "../text/clip.js";
import { Foreign } from "../text/Foreign.js";
import { visibleProse } from "../text/visible.js";
import { api, problemOf } from "../wire/api.js";
import type { Problem, RowDetails, ToolRow } from "../wire/rows.js";
import { Blocks } from "./Blocks.js";
import { keeping, useReading } from "./reading.js";
import { titleOf } from "./title.js";

const ICONS: Record<ToolRow["status"], IconName> = {
  proposed: "dot",
  running: "dot",
  completed: "check",
  applied: "check",
  failed: "cross",
  rejected: "slash",
  cancelled: "slash",
  interrupted: "slash",
  unknown: "question",
};

/** Lines of output that a call which did not end well shows without being asked. */
const TAIL = 12;

/** A call: its line, its changes, what it printed, and what went wrong. */
export function ToolCall({ row }: { row: ToolRow }): VNode {
  const t = messages();
  const { session, keeper } = useReading();
  const head = useRef<HTMLDivElement>(null);
  // A call may ask again after it was allowed.
  const asks =
    row.permission === "asked" || session.book.questionsOf(row.turn, row.call).some((one) => one.outcome === null);
  const cards = cardsOf(row);
  const has = detailsOf(row);
  const key = `details:${row.id}`;
  const open = has !== null && (session.choices.choice(key) ?? (row.status === "running" && row.output !== ""));
  // The call was carried out; what it ran did not end well. A card says itself how its changes stand.
  const fell = row.status === "completed" && endOf(row) !== "";
  const word = endOf(row) || (cards.length > 0 && row.status !== "running" ? "" : t.status[row.status]);
  return (
    <div class="tool" data-status={row.status}>
      <div ref={head} class="tool-line" data-anchor>
        <span class={`status status-${fell ? "failed" : row.status}`}>
          <Icon name={asks ? "lock" : fell ? "cross" : ICONS[row.status]} />
          <span class="visually-hidden">{fell ? endOf(row) : t.status[row.status]}</span>
        </span>
        <p class="tool-words">
          <span class="tool-title" data-part="tool-title">
            {row.card === "terminal" ? (
              <Command text={row.title} />
            ) : (
              <Foreign text={shortenedMiddle(titleOf(row), TITLE_CHARACTERS)} />
            )}
          </span>
          {row.description !== null && (
            <span class="tool-note">
              {messages().row.agentSays} “<Foreign text={row.description} />”
            </span>
          )}
          <Places row={row} />
          {row.note !== null && (
            <span class="tool-note" data-part="note">
              {visibleProse(said(row.note) ?? row.note)}
            </span>
          )}
        </p>
        {has !== null && (
          <button
            type="button"
            class="details-toggle"
            aria-expanded={open}
            data-part="details-toggle"
            onClick={() => keeping(keeper(), head.current, () => session.choices.choose(key, !open))}
          >
            <Icon name="chevron" />
            {has}
          </button>
        )}
        {word !== "" && (
          <span class={`status-word status-${fell ? "failed" : row.status}`} data-part="status">
            {word}
          </span>
        )}
      </div>
      <Collapse open={open}>
        {() => (
          <div class="details-body">
            <DetailsBody row={row} />
          </div>
        )}
      </Collapse>
      {row.warnings.map((warning) => (
        <p key={warning} class="warning" data-part="call-warning">
          <Icon name="warning" />
          {visibleProse(said(warning) ?? warning)}
        </p>
      ))}
      {cards.map((plan) => (
        <Card
          key={plan.key}
          plan={plan}
          row={row.id}
          turn={row.turn}
          call={row.call}
          // The question below shows the same change whole.
          {...(asks ? { start: "summary" as const } : {})}
        />
      ))}
      {row.error !== null && <ProblemNote problem={row.error} />}
    </div>
  );
}

/** What can be opened of a call; null: nothing. */
function detailsOf(row: ToolRow): string | null {
  const t = messages().row;
  if (row.output !== "") {
    const lines = row.output.trimEnd().split("\n").length;
    return lines > 1 ? t.outputLines(lines) : t.output;
  }
  return row.content.length > 0 || row.has_raw || isLongTitle(row) ? t.details : null;
}

/** Lines and characters of a command, or of a title, that a call's line holds; its details hold all. */
const TITLE_LINES = 4;
const TITLE_CHARACTERS = 400;

/** A command is said to be one. */
function Command({ text }: { text: string }): VNode {
  const short = clip(text, TITLE_LINES, TITLE_CHARACTERS);
  return (
    <code class="command">
      <span class="prompt" aria-hidden="true">
        $
      </span>
      {visibleProse(short ?? text)}
      {short !== null && " …"}
    </code>
  );
}

function Places({ row }: { row: ToolRow }): VNode | null {
  const [first] = row.locations;
  // A card names its files itself, and many titles do.
  if (first === undefined || row.changes.length + row.proposed.length > 0 || row.title.includes(first.name))
    return null;
  return (
    <span class="tool-place">
      <Foreign text={first.line === null ? first.name : `${first.name}:${first.line}`} />
      {row.locations.length > 1 && ` +${row.locations.length - 1}`}
    </span>
  );
}

function endOf(row: ToolRow): string {
  const t = messages().row;
  if (row.time_limit !== null) return t.timeLimit(row.time_limit);
  if (row.signal !== null) return t.signal(row.signal);
  return row.exit_code !== null && row.exit_code !== 0 ? t.exit(row.exit_code) : "";
}

function isLongTitle(row: ToolRow): boolean {
  return (
    row.title.length > TITLE_CHARACTERS ||
    (row.card === "terminal" && clip(row.title, TITLE_LINES, TITLE_CHARACTERS) !== null)
  );
}

function DetailsBody({ row }: { row: ToolRow }): VNode {
  const t = messages().row;
  const [whole, setWhole] = useState<RowDetails | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const { session } = useReading();
  const ended = row.status !== "running" && row.status !== "proposed";
  const wanted = ended && (row.has_raw || row.cut);
  useEffect(() => {
    if (!wanted) return;
    let left = false;
    api.row(session.id, row.id).then(
      (found) => {
        if (!left) setWhole(found);
      },
      (error: unknown) => {
        if (!left) setProblem(problemOf(error));
      },
    );
    return () => {
      left = true;
    };
  }, [session.id, row.id, row.revision, wanted]);
  const shown = whole?.row.kind === "tool" ? whole.row : row;
  const output = ended ? shown.output : shown.output.split("\n").slice(-TAIL).join("\n");
  return (
    <>
      {isLongTitle(row) && (
        <pre class="output" tabIndex={0} data-part="whole-title">
          {visibleProse(row.title)}
        </pre>
      )}
      {shown.cut && <p class="quiet-word">{t.outputCut}</p>}
      {output !== "" && (
        <pre class="output" tabIndex={0} data-part="output">
          {visibleProse(output)}
        </pre>
      )}
      <Blocks blocks={shown.content} />
      {whole?.raw != null && (
        <>
          <p class="quiet-word">{t.raw}</p>
          <pre class="output" tabIndex={0} data-part="raw">
            {visibleProse(whole.raw)}
          </pre>
        </>
      )}
      {problem !== null && <ProblemNote problem={problem} />}
    </>
  );
}
