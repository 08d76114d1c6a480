import type { VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ProblemNote } from "../app/ProblemNote.js";
import { FileLine, Warnings, whyEmpty } from "../card/FileLine.js";
import { type CardPlan, cardOfFound, cardOfUndo, cardsOf, type Standing, standingIn } from "../card/form.js";
import { DiffView } from "../diff/DiffView.js";
import type { Sides as Whole } from "../diff/metadata.js";
import { messages } from "../i18n/language.js";
import type { OpenSession } from "../sessions/open.js";
import { api, problemOf, type Selection } from "../wire/api.js";
import type { Change, Problem, Row, Sides } from "../wire/rows.js";
import { Toolbar } from "./Toolbar.js";
import type { Target } from "./target.js";
import { viewedName } from "./viewed.js";

interface Shown {
  changes: readonly { change: Change; standing: Standing; sides: Sides | null }[];
  selection: Selection;
}

type ChangeTarget = Exclude<Target, { kind: "git" }>;

/** A change with nothing left out: all of its hunks, and what is between them where both texts are known. */
export function ChangeTab({ session, target }: { session: OpenSession; target: ChangeTarget }): VNode {
  const t = messages();
  const [shown, setShown] = useState<Shown | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const body = useRef<HTMLDivElement>(null);
  const revision = target.kind === "row" ? (session.book.row(target.row)?.value.revision ?? 0) : 0;
  const which = JSON.stringify(target);
  useEffect(() => {
    let left = false;
    setProblem(null);
    load(session.id, target).then(
      (found) => {
        if (!left) setShown(found);
      },
      (error: unknown) => {
        if (!left) setProblem(problemOf(error));
      },
    );
    return () => {
      left = true;
    };
  }, [session.id, which, revision]);
  const changes = useMemo(() => shown?.changes.map((one) => one.change) ?? [], [shown]);
  if (problem !== null) return <ProblemNote problem={problem} lead={t.panel.failed} />;
  if (shown === null) return <p class="quiet-word loading">{t.app.loading}</p>;
  return (
    <>
      <Toolbar session={session} body={body} changes={changes} selection={shown.selection} />
      <div ref={body} class="panel-scroll" data-part="panel-change">
        {target.kind === "net" && <p class="quiet-word panel-scope">{t.panel.scopeTurn}</p>}
        {shown.changes.map(({ change, standing, sides }) => (
          <PanelFile key={change.path} session={session} change={change} standing={standing} sides={sides} />
        ))}
        {shown.changes.length === 0 && <p class="quiet-word panel-empty">{t.panel.nothing}</p>}
      </div>
    </>
  );
}

function PanelFile({
  session,
  change,
  standing,
  sides,
}: {
  session: OpenSession;
  change: Change;
  standing: Standing;
  sides: Sides | null;
}): VNode {
  const t = messages();
  const whole = useMemo(() => wholeOf(sides), [sides]);
  const name = viewedName(change);
  const viewed = session.choices.choice(name) ?? false;
  return (
    <section class="panel-file" data-file={change.path} data-standing={standing} data-viewed={viewed}>
      <div class="panel-file-head">
        <FileLine change={change} standing={standing} />
        <label class="viewed">
          <input
            type="checkbox"
            checked={viewed}
            data-part="viewed"
            onChange={(event) => session.choices.choose(name, event.currentTarget.checked)}
          />
          {t.panel.viewed}
        </label>
      </div>
      <Warnings change={change} />
      {!viewed &&
        (change.hunks.length > 0 ? (
          <>
            <DiffView change={change} sides={whole} />
            {sides?.secret && <p class="diff-note">{t.panel.secret}</p>}
            {change.truncated && <p class="diff-note">{t.card.cut}</p>}
          </>
        ) : (
          <p class="diff-note">{whyEmpty(change)}</p>
        ))}
    </section>
  );
}

async function load(session: string, target: ChangeTarget): Promise<Shown> {
  if (target.kind === "net") {
    const { turn, path } = target;
    const { change, sides } = await api.net(session, turn, path);
    return { changes: [{ change, standing: "applied", sides }], selection: { turn, path } };
  }
  const { row } = await api.row(session, target.row);
  const found = changesOf(row, target.applied).filter(
    ({ change }) => target.path === null || change.path === target.path,
  );
  const changes = await Promise.all(
    found.map(async ({ change, standing }) => ({ change, standing, sides: await sidesOf(session, row.id, change) })),
  );
  return { changes, selection: { row: row.id, path: target.path } };
}

function changesOf(row: Row, applied: boolean): { change: Change; standing: Standing }[] {
  switch (row.kind) {
    case "tool": {
      const wanted = cardsOf(row).filter((plan) => plan.key.endsWith("#proposed") !== applied);
      return wanted.flatMap(standingsOf);
    }
    case "revert":
      return standingsOf(cardOfUndo(row));
    case "found":
      return standingsOf(cardOfFound(row));
    case "permission":
      return row.changes.map((change) => ({ change, standing: "proposed" as const }));
    default:
      return [];
  }
}

function standingsOf(plan: CardPlan): { change: Change; standing: Standing }[] {
  return plan.changes.map((change) => ({ change, standing: standingIn(plan, change) }));
}

/** Null where there is nothing between the hunks to show, or it is not to be had: the hunks are shown all the same. */
async function sidesOf(session: string, row: string, change: Change): Promise<Sides | null> {
  if (change.operation === "add" || change.operation === "delete" || change.file_type !== "text") return null;
  if (change.truncated || !change.anchored || change.hunks.length === 0) return null;
  try {
    return await api.sides(session, row, change.path);
  } catch {
    return null;
  }
}

function wholeOf(sides: Sides | null): Whole | null {
  return sides?.available && sides.old !== null && sides.new !== null ? { before: sides.old, after: sides.new } : null;
}
