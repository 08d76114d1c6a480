import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Icon } from "../app/Icon.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { Counts, Diffstat } from "../card/Counts.js";
import { countsOf, countsOfTotal } from "../card/change.js";
import { PathText, Warnings, whyEmpty } from "../card/FileLine.js";
import { DiffView } from "../diff/DiffView.js";
import { messages } from "../i18n/language.js";
import type { OpenSession } from "../sessions/open.js";
import { visible } from "../text/visible.js";
import { api, problemOf } from "../wire/api.js";
import type { FileDiff, Problem, TouchedFile } from "../wire/rows.js";

/** The files that the session touched: what the agent left, and what git says of each now. */
export function FilesTab({ session }: { session: OpenSession }): VNode {
  const t = messages();
  const [files, setFiles] = useState<readonly TouchedFile[] | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [look, setLook] = useState(0);
  // A turn that ends has changed what there is to see.
  const running = session.state.value?.running ?? false;
  useEffect(() => {
    let left = false;
    setProblem(null);
    api.files(session.id).then(
      (found) => {
        if (!left) setFiles(found.files);
      },
      (error: unknown) => {
        if (!left) setProblem(problemOf(error));
      },
    );
    return () => {
      left = true;
    };
  }, [session.id, look, running]);
  return (
    <div class="panel-scroll files" data-part="files">
      <p class="files-head">
        <strong>{t.files.title}</strong>
        <button type="button" class="link-button" data-part="look-again" onClick={() => setLook(look + 1)}>
          {t.files.refresh}
        </button>
      </p>
      {problem !== null && <ProblemNote problem={problem} lead={t.files.failed} />}
      {files === null && problem === null && <p class="quiet-word loading">{t.files.looking}</p>}
      {files?.length === 0 && <p class="quiet-word panel-empty">{t.files.none}</p>}
      <ul class="file-list">
        {files?.map((file) => (
          <li key={file.net.path}>
            <Touched session={session.id} file={file} look={look} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Touched({ session, file, look }: { session: string; file: TouchedFile; look: number }): VNode {
  const t = messages().files;
  const [live, setLive] = useState<FileDiff | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [open, setOpen] = useState(false);
  const { net } = file;
  useEffect(() => {
    let left = false;
    setProblem(null);
    if (file.secret) return;
    api.fileDiff(session, net.path).then(
      (found) => {
        if (!left) setLive(found);
      },
      (error: unknown) => {
        if (!left) setProblem(problemOf(error));
      },
    );
    return () => {
      left = true;
    };
  }, [session, net.path, look, file]);
  const change = live?.change ?? null;
  const secret = file.secret || problem?.code === "SECRET_FILE";
  const state = secret ? "secret" : problem !== null ? "failed" : live?.state;
  const words = {
    same: file.as_before ? t.asBefore : t.stillThere,
    changed: t.changedSince,
    missing: t.missing,
    unknown: t.unknown,
  };
  return (
    <div
      class="touched"
      data-path={net.path}
      data-git={state}
      data-on-disk={file.on_disk}
      data-as-before={file.as_before}
      data-open={open}
    >
      <button
        type="button"
        class="card-toggle"
        aria-expanded={change === null ? undefined : open}
        disabled={change === null}
        title={visible(net.path)}
        aria-label={t.open(visible(net.name))}
        data-part="touched-toggle"
        onClick={() => setOpen(!open)}
      >
        <Icon name={change === null ? "file" : "chevron"} />
        <span class="file-line">
          <span class="card-name">
            <PathText path={net.name} />
          </span>
          <Counts counts={countsOfTotal(net, false)} />
          {!file.as_before && <Diffstat counts={countsOfTotal(net, false)} />}
        </span>
      </button>
      <p class="touched-facts">
        <span data-part="on-disk" class={file.on_disk === "same" ? "" : "attention"}>
          {words[file.on_disk]}
        </span>
        <span data-part="git-state">
          {!secret && t.git} {state === undefined ? t.looking : t.states[state]}{" "}
          {change !== null && <Counts counts={countsOf(change)} />}
        </span>
      </p>
      {!secret && (problem ?? live?.problem) != null && <ProblemNote problem={(problem ?? live?.problem) as Problem} />}
      {open && change !== null && (
        <div class="file-body">
          <Warnings change={change} />
          {change.hunks.length > 0 ? <DiffView change={change} /> : <p class="diff-note">{whyEmpty(change)}</p>}
        </div>
      )}
    </div>
  );
}
