import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Boundary } from "../app/Boundary.js";
import { Icon } from "../app/Icon.js";
import { FilesTab } from "../files/FilesTab.js";
import { messages } from "../i18n/language.js";
import type { OpenSession } from "../sessions/open.js";
import { ChangeTab } from "./ChangeTab.js";
import { closePanel, panelOpen, panelTab, panelTarget } from "./target.js";

/** The side panel: a change in whole, and the files of the session. */
export function Panel({ session }: { session: OpenSession }): VNode | null {
  const t = messages();
  const box = useRef<HTMLElement>(null);
  const open = panelOpen.value;
  const tab = panelTab.value;
  const target = panelTarget.value;
  useEffect(() => {
    if (open) box.current?.focus({ preventScroll: true });
  }, [open, target]);
  if (!open) return null;
  return (
    <aside ref={box} class="panel" data-part="panel" aria-label={t.panel.title} tabIndex={-1}>
      <div class="panel-tabs">
        <div role="tablist" aria-label={t.panel.title} class="tabs">
          {(["change", "files"] as const).map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${name}`}
              aria-selected={tab === name}
              aria-controls="panel-body"
              data-part={`tab-${name}`}
              onClick={() => {
                panelTab.value = name;
              }}
            >
              {name === "change" ? t.panel.changes : t.panel.files}
            </button>
          ))}
        </div>
        <button
          type="button"
          class="icon-button"
          aria-label={t.app.close}
          title={t.app.close}
          data-part="close-panel"
          onClick={closePanel}
        >
          <Icon name="close" />
        </button>
      </div>
      <div id="panel-body" class="panel-body" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        <Boundary key={`${tab} ${JSON.stringify(target)}`} part="panel">
          {tab === "files" ? (
            <FilesTab session={session} />
          ) : target === null || target.kind === "git" ? (
            <p class="quiet-word panel-empty">{t.panel.nothing}</p>
          ) : (
            <ChangeTab session={session} target={target} />
          )}
        </Boundary>
      </div>
    </aside>
  );
}
