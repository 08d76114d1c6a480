import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../app/Icon.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { messages } from "../i18n/language.js";
import type { OpenSession } from "../sessions/open.js";
import { api, problemOf } from "../wire/api.js";
import type { Problem } from "../wire/rows.js";

/** What was typed and not sent, by session, while the page is open. */
const drafts = new Map<string, string>();

/** Where a prompt is written, and a running turn stopped. */
export function Composer({ session }: { session: OpenSession }): VNode {
  const t = messages().composer;
  const [text, setText] = useState(drafts.get(session.id) ?? "");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [lead, setLead] = useState("");
  const [sending, setSending] = useState(false);
  const [stopping, setStopping] = useState(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const state = session.state.value;
  const running = state?.running ?? false;
  const readOnly = state?.runs === "elsewhere";
  const waiting = state?.waiting ?? 0;
  useEffect(() => {
    setText(drafts.get(session.id) ?? "");
    setProblem(null);
  }, [session]);
  useEffect(() => {
    if (!running) setStopping(false);
  }, [running]);
  useLayoutEffect(() => {
    const area = box.current;
    if (area === null) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text]);
  const write = (value: string): void => {
    drafts.set(session.id, value);
    setText(value);
  };
  const send = async (): Promise<void> => {
    const prompt = text.trim();
    if (prompt === "" || sending) return;
    setSending(true);
    setProblem(null);
    write("");
    try {
      await api.prompt(session.id, prompt);
    } catch (error) {
      setLead(t.failed);
      setProblem(problemOf(error));
      write(prompt); // nothing that was typed is lost
    } finally {
      setSending(false);
      box.current?.focus();
    }
  };
  const stop = async (): Promise<void> => {
    setStopping(true);
    try {
      await api.cancel(session.id);
    } catch (error) {
      setStopping(false);
      setLead("");
      setProblem(problemOf(error));
    }
  };
  return (
    <form
      class="composer"
      data-part="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {problem !== null && <ProblemNote problem={problem} lead={lead} />}
      {readOnly && <p class="quiet-word composer-note">{t.readOnly}</p>}
      {waiting > 0 && (
        <p class="quiet-word composer-note" role="status">
          {t.queued}
        </p>
      )}
      <div class="composer-box">
        <textarea
          ref={box}
          id="prompt"
          rows={1}
          value={text}
          aria-label={t.label}
          placeholder={t.placeholder}
          disabled={readOnly}
          data-part="prompt"
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={(event) => {
            // While an input method composes a character, Enter belongs to it.
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
              event.preventDefault();
              void send();
            }
          }}
        />
        {running && !readOnly && (
          <button type="button" class="button stop" disabled={stopping} data-part="stop" onClick={() => void stop()}>
            <Icon name="stop" />
            {stopping ? t.stopping : t.stop}
          </button>
        )}
        <button
          type="submit"
          class="button primary send"
          disabled={readOnly || sending || text.trim() === ""}
          aria-label={t.send}
          title={t.hint}
          data-part="send"
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
