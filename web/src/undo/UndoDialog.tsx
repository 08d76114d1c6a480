import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Dialog } from "../app/Dialog.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { FileBody, FileLine, Warnings } from "../card/FileLine.js";
import { nameOfHunk } from "../card/hunks.js";
import { messages } from "../i18n/language.js";
import { said } from "../i18n/said.js";
import { type UndoWish, undoWish } from "../panel/target.js";
import type { OpenSession } from "../sessions/open.js";
import { visibleProse } from "../text/visible.js";
import { api, problemOf } from "../wire/api.js";
import type { Problem, UndoPreview } from "../wire/rows.js";

/** What an undo would do, and then the button that does exactly that. */
export function UndoDialog({ session }: { session: OpenSession }): VNode | null {
  const wish = undoWish.value;
  if (wish === null) return null;
  const close = (): void => {
    undoWish.value = null;
  };
  return (
    <Dialog title={messages().undo.title} part="undo-dialog" close={close} wide>
      <Preview key={JSON.stringify(wish.selection)} session={session} wish={wish} close={close} />
    </Dialog>
  );
}

function Preview({ session, wish, close }: { session: OpenSession; wish: UndoWish; close: () => void }): VNode {
  const t = messages();
  const [hunk, setHunk] = useState<number | null>(wish.selection.hunk ?? null);
  const [preview, setPreview] = useState<UndoPreview | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [working, setWorking] = useState(false);
  const [look, setLook] = useState(0);
  const carrying = useRef(false);
  const running = session.state.value?.running ?? false;
  useEffect(() => {
    if (carrying.current) return; // the undo is a turn itself; what it would do now is not the question any more
    let left = false;
    setPreview(null);
    setProblem(null);
    if (running) return;
    api.previewUndo(session.id, { ...wish.selection, hunk }).then(
      (found) => {
        if (!left) setPreview(found);
      },
      (error: unknown) => {
        if (!left) setProblem(problemOf(error));
      },
    );
    return () => {
      left = true;
    };
  }, [session.id, hunk, look, running]);
  const carryOut = async (plan: string): Promise<void> => {
    carrying.current = true;
    setWorking(true);
    try {
      await api.undo(session.id, plan);
      close();
    } catch (error) {
      setProblem(problemOf(error));
      setPreview(null);
    } finally {
      carrying.current = false;
      setWorking(false);
    }
  };
  const hunks = wish.change?.hunks ?? [];
  return (
    <>
      {hunks.length > 1 && (
        <label class="field">
          <span>{t.undo.hunkChoice}</span>
          <select
            data-part="undo-hunk"
            value={hunk ?? ""}
            onChange={(event) => setHunk(event.currentTarget.value === "" ? null : Number(event.currentTarget.value))}
          >
            <option value="">{t.undo.file}</option>
            {hunks.map((one, at) => (
              <option key={at} value={at + 1}>
                {nameOfHunk(one)}
              </option>
            ))}
          </select>
        </label>
      )}
      {problem !== null && (
        <>
          <ProblemNote problem={problem} lead={problem.code === "STALE" ? t.undo.stale : t.undo.failed} />
          <button type="button" class="link-button" data-part="undo-look-again" onClick={() => setLook(look + 1)}>
            {t.undo.again}
          </button>
        </>
      )}
      {problem === null && preview === null && (
        <p class="quiet-word loading">{running ? t.undo.waits : t.app.loading}</p>
      )}
      {preview !== null && (
        <div class="undo-preview" data-part="undo-preview">
          <p>{preview.changes.length > 0 ? t.undo.will : t.undo.nothing}</p>
          {preview.notes.map((note) => (
            <p key={note} class="quiet-word">
              {visibleProse(said(note) ?? note)}
            </p>
          ))}
          {preview.changes.map((change) => (
            <div key={change.path} class="card file" data-file={change.path} data-standing="proposed">
              <div class="card-head">
                <FileLine change={change} standing="proposed" />
              </div>
              <Warnings change={change} />
              <FileBody change={change} />
            </div>
          ))}
        </div>
      )}
      <div class="buttons">
        <button
          type="button"
          class="button primary"
          data-part="undo-confirm"
          disabled={working || preview === null || preview.changes.length === 0}
          onClick={() => preview !== null && void carryOut(preview.plan)}
        >
          {working ? t.undo.working : t.undo.confirm}
        </button>
        <button type="button" class="button" data-part="undo-cancel" onClick={close}>
          {t.undo.cancel}
        </button>
      </div>
    </>
  );
}
