import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../app/Icon.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { begun } from "../app/page.js";
import { messages } from "../i18n/language.js";
import type { OpenSession } from "../sessions/open.js";
import { api, problemOf } from "../wire/api.js";
import type { Problem } from "../wire/rows.js";

interface Draft {
  text: string;
  /** Pasted text that is too long for the box, and goes along with what is typed. */
  held: string;
}

const NOTHING: Draft = { text: "", held: "" };
/** What was typed and not sent, by session, while the page is open. */
const drafts = new Map<string, Draft>();

/** Characters that fill the box whatever they are: to lay them out only to see that would cost time for nothing. */
const LONG = 5_000;
/** Characters that are laid out at all. A browser takes seconds for a million, more where no blanks part them. */
const HELD = 50_000;
/** Characters that the server takes. */
const MOST = 1_000_000;

/** Where a prompt is written, and a running turn stopped. */
export function Composer({ session }: { session: OpenSession }): VNode {
  const t = messages().composer;
  const [{ text, held }, setDraft] = useState(drafts.get(session.id) ?? NOTHING);
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
    setDraft(drafts.get(session.id) ?? NOTHING);
    setProblem(null);
    if (begun.peek() !== session.id) return;
    begun.value = "";
    box.current?.focus();
  }, [session]);
  useEffect(() => {
    if (!running) setStopping(false);
  }, [running]);
  useLayoutEffect(() => {
    const area = box.current;
    if (area === null) return;
    const most = window.innerHeight * 0.4;
    if (text.length > LONG) {
      area.style.height = `${most}px`;
      return;
    }
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, most)}px`;
  }, [text]);
  const write = (draft: Draft): void => {
    drafts.set(session.id, draft);
    setDraft(draft);
  };
  const hold = (more: string): Draft => ({ text, held: held === "" ? more : `${held}\n\n${more}` });
  const send = async (): Promise<void> => {
    const prompt = [text, held]
      .map((part) => part.trim())
      .filter((part) => part !== "")
      .join("\n\n");
    if (prompt === "" || sending) return;
    if (prompt.length > MOST) {
      setLead(t.failed);
      setProblem({ code: "TOO_LONG", message: t.tooLong(MOST), remedy: t.tooLongRemedy, lines: [] });
      return;
    }
    setSending(true);
    setProblem(null);
    write(NOTHING);
    try {
      await api.prompt(session.id, prompt);
    } catch (error) {
      setLead(t.failed);
      setProblem(problemOf(error));
      write({ text, held }); // nothing that was typed is lost
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
      {held !== "" && (
        <p class="composer-held" data-part="held">
          <Icon name="file" />
          <span>{t.held(held.length)}</span>
          <button
            type="button"
            class="icon-button"
            aria-label={t.dropHeld}
            title={t.dropHeld}
            onClick={() => write({ text, held: "" })}
          >
            <Icon name="close" />
          </button>
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
          onBeforeInput={(event: InputEvent) => {
            const more = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
            if (more.length <= HELD) return;
            event.preventDefault();
            write(hold(more));
          }}
          onInput={(event) => {
            const { value } = event.currentTarget;
            if (value.length <= HELD) {
              write({ text: value, held });
              return;
            }
            event.currentTarget.value = text; // before it is laid out
            write(hold(value));
          }}
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
          disabled={readOnly || sending || (text.trim() === "" && held === "")}
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
