import type { VNode } from "preact";
import { Icon } from "../app/Icon.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { current, drawer, keysOpen, newSessionOpen, sessionList, settingsOpen } from "../app/page.js";
import { Counts } from "../card/Counts.js";
import { boundOf } from "../card/change.js";
import { formatWhen, messages } from "../i18n/language.js";
import { Foreign } from "../text/Foreign.js";
import { visible } from "../text/visible.js";
import type { SessionSummary } from "../wire/rows.js";

/** The sessions, the one used last first, and the way to a new one. */
export function Sidebar(): VNode {
  const t = messages();
  const sessions = sessionList.sessions.value;
  const search = sessionList.search.value;
  const problem = sessionList.problem.value;
  return (
    <nav class={drawer.value ? "sidebar open" : "sidebar"} aria-label={t.app.sessions} data-part="sidebar">
      <div class="sidebar-head">
        <span class="brand">
          <span class="brand-mark" aria-hidden="true" />
          {t.app.title}
        </span>
        <button
          type="button"
          class="icon-button"
          aria-label={t.app.keys}
          title={t.app.keys}
          onClick={() => {
            keysOpen.value = true;
          }}
        >
          <Icon name="keyboard" />
        </button>
        <button
          type="button"
          class="icon-button"
          aria-label={t.settings.title}
          title={t.settings.title}
          data-part="settings"
          onClick={() => {
            settingsOpen.value = true;
          }}
        >
          <Icon name="settings" />
        </button>
        <button
          type="button"
          class="icon-button only-narrow"
          aria-label={t.app.close}
          onClick={() => {
            drawer.value = false;
          }}
        >
          <Icon name="close" />
        </button>
      </div>
      <button
        type="button"
        class="button new-session"
        data-part="new-session"
        onClick={() => {
          newSessionOpen.value = true;
        }}
      >
        <Icon name="plus" />
        {t.sessions.new}
      </button>
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          id="session-search"
          aria-label={t.sessions.search}
          placeholder={t.sessions.searchHint}
          value={search}
          data-part="session-search"
          onInput={(event) => sessionList.searchFor(event.currentTarget.value)}
        />
      </label>
      {problem !== null && (
        <div class="sidebar-note">
          <ProblemNote problem={problem} lead={t.sessions.failed} />
          <button type="button" class="button" onClick={() => void sessionList.load()}>
            {t.app.retry}
          </button>
        </div>
      )}
      <ul class="session-list" data-part="session-list">
        {sessions.map((session) => (
          <li key={session.session}>
            <SessionLink session={session} />
          </li>
        ))}
        {sessions.length === 0 && !sessionList.loading.value && problem === null && (
          <li class="quiet-word sidebar-note">{search.trim() === "" ? t.sessions.none : t.sessions.noMatch(search)}</li>
        )}
        {sessionList.before.value !== null && (
          <li>
            <button type="button" class="link-button" onClick={() => void sessionList.loadMore()}>
              {t.sessions.more}
            </button>
          </li>
        )}
      </ul>
    </nav>
  );
}

function SessionLink({ session }: { session: SessionSummary }): VNode {
  const t = messages().sessions;
  const here = current.value?.id === session.session;
  const counts = session.added + session.removed > 0 ? session : null;
  const doing = session.doing !== "" ? t.doing[session.doing] : session.runs === "elsewhere" ? t.elsewhere : "";
  const folder = session.workspace.replace(/\/+$/, "").split("/").at(-1) || session.workspace;
  return (
    <a
      class="session-link"
      href={`#/s/${encodeURIComponent(session.session)}`}
      aria-current={here ? "page" : undefined}
      data-session={session.session}
      data-runs={session.runs}
      data-doing={session.doing}
      title={visible(session.workspace)}
      onClick={() => {
        drawer.value = false;
      }}
    >
      <span class="session-title">{session.title === "" ? t.untitled : <Foreign text={session.title} />}</span>
      {doing !== "" && <span class={`session-doing ${session.doing || "elsewhere"}`}>{doing}</span>}
      <span class="session-facts">
        <Foreign text={session.agent} />
        <span aria-hidden="true">·</span>
        <Foreign text={folder} />
        <span aria-hidden="true">·</span>
        <time dateTime={new Date(session.updated_at).toISOString()}>{formatWhen(session.updated_at, Date.now())}</time>
        {counts !== null && (
          <span class="session-counts" title={t.edited}>
            <span class="visually-hidden">{t.edited}: </span>
            <Counts counts={{ added: counts.added, removed: counts.removed, bound: boundOf(counts) }} />
          </span>
        )}
      </span>
    </a>
  );
}
