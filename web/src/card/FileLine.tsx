import type { VNode } from "preact";
import { Icon } from "../app/Icon.js";
import { DiffView } from "../diff/DiffView.js";
import { formatBytes, messages } from "../i18n/language.js";
import { Foreign } from "../text/Foreign.js";
import type { Change } from "../wire/rows.js";
import { Counts } from "./Counts.js";
import { basename, countsOf, type Fact, factsOf, fileForm } from "./change.js";
import { isOnDisk, isShownAsDone, type Standing } from "./form.js";
import { nameOfHunk } from "./hunks.js";

/** Verb, name, counts, facts and standing: all that one line says of a change. */
export function FileLine({
  change,
  standing,
  silent = false,
}: {
  change: Change;
  standing: Standing;
  /** Something else says how it stands. */
  silent?: boolean;
}): VNode {
  const t = messages();
  const done = isShownAsDone(standing);
  const notes = factsOf(change).map((fact) => factWord(fact, change));
  if (change.truncated) notes.push(t.card.truncated);
  else if (fileForm(change) === "summary") notes.push(t.card.tooLarge(change.diff_lines));
  return (
    <span class="file-line">
      <span class="verb">{(done ? t.done : t.asked)[change.operation]}</span>{" "}
      <span class="card-name" data-part="file-name">
        {change.old_name !== null && change.old_name !== change.name && (
          <>
            <PathText path={change.old_name} />
            <span class="arrow"> → </span>
          </>
        )}
        <PathText path={change.name} />
      </span>{" "}
      <Counts counts={countsOf(change)} quiet={!isOnDisk(standing)} />
      {notes.map((note) => (
        <span key={note} class="fact">
          {note}
        </span>
      ))}
      {!silent && <StandingWord standing={standing} />}
    </span>
  );
}

/** A path whose folder is quieter than its name. */
export function PathText({ path }: { path: string }): VNode {
  const name = basename(path);
  const folder = path.endsWith(name) ? path.slice(0, path.length - name.length) : "";
  return (
    <span class="path">
      {folder !== "" && (
        <span class="folder">
          <Foreign text={folder} />
        </span>
      )}
      <Foreign text={folder === "" ? path : name} />
    </span>
  );
}

export function StandingWord({ standing }: { standing: Standing }): VNode {
  return (
    <span class={`standing standing-${standing}`} data-part="standing">
      {messages().standing[standing]}
    </span>
  );
}

/** What stands under the line of a change, at its own length: the diff, or why there is none. */
export function FileBody({ change }: { change: Change }): VNode {
  const t = messages().card;
  if (change.hunks.length > 0) {
    return (
      <div class="file-body">
        <DiffView change={change} />
        {change.truncated && <p class="diff-note">{t.cut}</p>}
      </div>
    );
  }
  return <p class="file-body diff-note">{whyEmpty(change)}</p>;
}

export function whyEmpty(change: Change): string {
  const t = messages().card;
  const sizes = [change.before, change.after].filter((side) => side !== null).map((side) => formatBytes(side.size));
  const shown = sizes.length === 2 ? t.becomes(sizes[0] ?? "", sizes[1] ?? "") : (sizes[0] ?? "");
  if (change.file_type === "binary") return t.binarySizes(shown);
  if (change.file_type === "unknown") return shown === "" ? t.noText : `${t.noText} ${shown}`;
  if (change.truncated) return shown === "" ? t.cutWhole : `${t.cutWhole} ${shown}`;
  if (change.operation === "add" && change.after?.size === 0) return t.emptyFile;
  return t.noLines;
}

/** The hunks of a change that were taken back by themselves. */
export function PartsUndone({ change, hunks }: { change: Change; hunks: readonly number[] }): VNode | null {
  const t = messages();
  const parts = hunks.map((at) => change.hunks[at - 1]).filter((hunk) => hunk !== undefined);
  if (parts.length === 0) return null;
  return (
    <p class="part-undone" data-part="part-undone">
      <Icon name="undo" />
      {t.undo.undonePart}: {parts.map(nameOfHunk).join("; ")}
    </p>
  );
}

export function Warnings({ change }: { change: Change }): VNode | null {
  const t = messages().card;
  const kinds = [...change.hidden].sort();
  if (kinds.length === 0) return null;
  return (
    <p class="warning" data-part="hidden-warning">
      <Icon name="warning" />
      {t.hidden(kinds.map((kind) => t.hiddenKinds[kind]).join(", "))}
    </p>
  );
}

function factWord(fact: Fact, change: Change): string {
  const t = messages().card;
  if (fact === "line_endings_changed" && change.before && change.after) {
    return t.lineEnds(t.ends[change.before.eol], t.ends[change.after.eol]);
  }
  return t.facts[fact];
}
