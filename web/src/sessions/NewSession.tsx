import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Dialog } from "../app/Dialog.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { begun, go, newSessionOpen } from "../app/page.js";
import { messages } from "../i18n/language.js";
import { visible } from "../text/visible.js";
import { api, problemOf } from "../wire/api.js";
import type { Agent, Folders, Problem } from "../wire/rows.js";

/** Which agent, in which folder. */
export function NewSession(): VNode | null {
  if (!newSessionOpen.value) return null;
  const close = (): void => {
    newSessionOpen.value = false;
  };
  return (
    <Dialog title={messages().newSession.title} part="new-session-dialog" close={close}>
      <Form close={close} />
    </Dialog>
  );
}

function Form({ close }: { close: () => void }): VNode {
  const t = messages();
  const [agents, setAgents] = useState<readonly Agent[] | null>(null);
  const [folders, setFolders] = useState<Folders | null>(null);
  const [agent, setAgent] = useState("");
  const [folder, setFolder] = useState("");
  const [model, setModel] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const [starting, setStarting] = useState(false);
  useEffect(() => {
    Promise.all([api.agents(), api.folders()]).then(
      ([found, places]) => {
        setAgents(found);
        setFolders(places);
        const first = found.find((one) => one.default) ?? found.find((one) => one.installed) ?? found[0];
        setAgent(first?.name ?? "");
        setModel(first?.model ?? "");
        setFolder((known) => known || places.here);
      },
      (error: unknown) => setProblem(problemOf(error)),
    );
  }, []);
  const chosen = agents?.find((one) => one.name === agent);
  const start = async (event: Event): Promise<void> => {
    event.preventDefault();
    setStarting(true);
    setProblem(null);
    try {
      const state = await api.start({ folder: folder.trim(), agent, model: model.trim(), prompt: "" });
      close();
      begun.value = state.session;
      go(state.session);
    } catch (error) {
      setProblem(problemOf(error));
    } finally {
      setStarting(false);
    }
  };
  return (
    <form class="form" onSubmit={(event) => void start(event)}>
      <label class="field">
        <span>{t.newSession.agent}</span>
        <select
          value={agent}
          data-part="agent"
          onChange={(event) => {
            setAgent(event.currentTarget.value);
            setModel(agents?.find((one) => one.name === event.currentTarget.value)?.model ?? "");
          }}
        >
          {agents?.map((one) => (
            <option key={one.name} value={one.name}>
              {visible(one.title || one.name)}
              {one.installed ? "" : ` (${t.newSession.notInstalled})`}
            </option>
          ))}
        </select>
        {agents?.length === 0 && <small>{t.newSession.noAgents}</small>}
        {chosen !== undefined && !chosen.installed && chosen.install !== "" && (
          <small>
            {t.newSession.install} <code>{visible(chosen.install)}</code>
          </small>
        )}
        {chosen?.notes && <small>{visible(chosen.notes)}</small>}
      </label>
      {chosen !== undefined && (chosen.needs_model || chosen.model !== "") && (
        <label class="field">
          <span>{t.newSession.model}</span>
          <input
            type="text"
            value={model}
            required={chosen.needs_model}
            spellcheck={false}
            autocomplete="off"
            data-part="model"
            onInput={(event) => setModel(event.currentTarget.value)}
          />
          <small>{chosen.needs_model ? t.newSession.modelNeeded : t.newSession.modelHint}</small>
        </label>
      )}
      <label class="field">
        <span>{t.newSession.folder}</span>
        <input
          type="text"
          value={folder}
          required
          spellcheck={false}
          autocomplete="off"
          list="folders"
          data-part="folder"
          onInput={(event) => setFolder(event.currentTarget.value)}
        />
        <datalist id="folders">
          {[...new Set([folders?.here, ...(folders?.recent ?? [])])].map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <small>{t.newSession.folderHint}</small>
      </label>
      {problem !== null && <ProblemNote problem={problem} lead={t.newSession.failed} />}
      <div class="buttons">
        <button type="submit" class="button primary" disabled={starting || agent === ""} data-part="start-session">
          {starting ? t.newSession.starting : t.newSession.start}
        </button>
        <button type="button" class="button" onClick={close}>
          {t.newSession.cancel}
        </button>
      </div>
    </form>
  );
}
