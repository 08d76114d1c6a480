import type { VNode } from "preact";
import { Composer } from "../composer/Composer.js";
import { messages } from "../i18n/language.js";
import { Panel } from "../panel/Panel.js";
import { panelOpen, showFiles, undoWish } from "../panel/target.js";
import { NewSession } from "../sessions/NewSession.js";
import type { OpenSession } from "../sessions/open.js";
import { Sidebar } from "../sessions/Sidebar.js";
import { Settings } from "../settings/Settings.js";
import { Foreign } from "../text/Foreign.js";
import { visible } from "../text/visible.js";
import { Transcript } from "../transcript/Transcript.js";
import { UndoDialog } from "../undo/UndoDialog.js";
import { Boundary } from "./Boundary.js";
import { Icon } from "./Icon.js";
import { KeyList } from "./KeyList.js";
import { panelCovers } from "./media.js";
import { connection, current, drawer } from "./page.js";

/** The whole page. */
export function App(): VNode {
  const t = messages();
  const session = current.value;
  return (
    <>
      <button type="button" class="skip" onClick={toTranscript}>
        {t.app.skip}
      </button>
      <Banner />
      <div class="frame">
        <Boundary part="sidebar">
          <Sidebar />
        </Boundary>
        {drawer.value && (
          <div
            class="shade"
            onClick={() => {
              drawer.value = false;
            }}
          />
        )}
        <main class="main" aria-label={t.app.transcript} inert={panelOpen.value && panelCovers.value}>
          <Header session={session} />
          <Boundary key={session?.id ?? ""} part="session">
            {session === null ? (
              <p class="quiet-word empty">{t.app.chooseSession}</p>
            ) : (
              <>
                <Transcript session={session} />
                <Composer session={session} />
              </>
            )}
          </Boundary>
        </main>
        {session !== null && <Panel session={session} />}
      </div>
      {session !== null && <UndoDialog session={session} />}
      <NewSession />
      <Settings />
      <KeyList />
    </>
  );
}

function toTranscript(): void {
  document.getElementById("transcript")?.focus();
}

function Header({ session }: { session: OpenSession | null }): VNode {
  const t = messages();
  const state = session?.state.value ?? null;
  const approvals = { ask: t.header.ask, edits: t.header.edits, all: t.header.all } as Record<string, string>;
  return (
    <header class="header" data-part="header" data-running={state?.running ?? false}>
      <button
        type="button"
        class="icon-button only-narrow"
        aria-label={t.app.openSessions}
        data-part="open-sessions"
        onClick={() => {
          drawer.value = true;
        }}
      >
        <Icon name="menu" />
      </button>
      <div class="header-words">
        <h1>
          {state === null ? t.app.title : state.title === "" ? t.sessions.untitled : <Foreign text={state.title} />}
        </h1>
        {state !== null && (
          <p class="header-facts">
            <Foreign text={state.agent} />
            {state.model !== "" && <Foreign text={state.model} />}
            <span class="header-folder" title={visible(state.workspace)}>
              <Foreign text={state.workspace} />
            </span>
            {state.mode !== "" && <Foreign text={state.mode} />}
            {state.approval !== "" && (
              <span class={state.approval === "all" ? "attention" : ""}>
                {approvals[state.approval] ?? visible(state.approval)}
              </span>
            )}
            {state.running && <span class="running">{t.sessions.doing.running}</span>}
          </p>
        )}
      </div>
      {state !== null && (
        <>
          <button
            type="button"
            class="button quiet"
            data-part="undo-last"
            title={t.undo.turn}
            onClick={() => {
              undoWish.value = { selection: { turn: null, call: null, path: null, hunk: null }, change: null };
            }}
          >
            <Icon name="undo" />
            <span class="button-text">{t.header.undoTurn}</span>
          </button>
          <button
            type="button"
            class="button quiet"
            aria-label={t.header.files}
            data-part="open-files"
            onClick={showFiles}
          >
            <Icon name="file" />
            <span class="button-text">{t.header.files}</span>
          </button>
        </>
      )}
    </header>
  );
}

/** Says that what is seen may be old, as long as it may be. */
function Banner(): VNode | null {
  const t = messages().app;
  const link = connection.link.value;
  if (link !== "lost" && link !== "denied") return null;
  return (
    <div class="banner" role="alert" data-part="banner" data-link={link}>
      <Icon name="warning" />
      <p>{link === "denied" ? t.denied : t.offline}</p>
      {link === "lost" && (
        <button type="button" class="link-button" data-part="reconnect" onClick={() => connection.again()}>
          {t.retry}
        </button>
      )}
    </div>
  );
}
