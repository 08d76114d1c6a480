import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import { LONG_LINE } from "../card/change.js";
import { formatNumber, messages } from "../i18n/language.js";
import { Foreign } from "../text/Foreign.js";
import { pieces } from "../text/visible.js";
import type { Change } from "../wire/rows.js";
import { type DiffLine, linesOfChange } from "./lines.js";
import { changedPiece, shortened } from "./long.js";

/** The lines of a change as a plain table: what a screen reader walks through, and what needs no viewer. */
export function DiffTable({ change, after = 0, label }: { change: Change; after?: number; label: string }): VNode {
  const t = messages().diff;
  const lines = useMemo(() => linesOfChange(change, after), [change, after]);
  const long = lines.some((line) => line.text.length > LONG_LINE);
  return (
    <div class="diff-table" tabIndex={0} role="region" aria-label={label} data-part="diff-table">
      {long && <p class="diff-note">{t.longNote}</p>}
      <table>
        <thead class="visually-hidden">
          <tr>
            <th scope="col">{t.oldLine}</th>
            <th scope="col">{t.newLine}</th>
            <th scope="col">{t.change}</th>
            <th scope="col">{t.text}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, at) => (
            <Line key={at} line={line} other={partnerOf(lines, at)} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ line, other }: { line: DiffLine; other: DiffLine | null }): VNode {
  const t = messages().diff;
  if (line.kind === "gap") {
    return (
      <tr class="gap">
        <td colSpan={4}>{line.skipped > 0 ? t.unchanged(line.skipped) : t.gap}</td>
      </tr>
    );
  }
  const sign = line.kind === "added" ? "+" : line.kind === "removed" ? "−" : " ";
  return (
    <tr class={line.kind} data-line={line.newNumber ?? line.oldNumber} data-line-type={line.kind}>
      <td class="number">{line.oldNumber}</td>
      <td class="number">{line.newNumber}</td>
      <td class="sign">
        <span aria-hidden="true">{sign}</span>
        {line.kind !== "context" && <span class="visually-hidden">{line.kind === "added" ? t.added : t.removed}</span>}
      </td>
      <td class="text">
        {line.text.length > LONG_LINE ? <LongLine line={line} other={other} /> : <CodeText text={line.text} />}
      </td>
    </tr>
  );
}

/** A line of code: tabs stay tabs, and a carriage return at the end is said elsewhere. */
function CodeText({ text }: { text: string }): VNode {
  const parts = text.replace(/\r$/, "").split("\t");
  return (
    <code>
      {parts.map((part, at) => [
        at > 0 ? "\t" : "",
        ...pieces(part).map((piece) => (piece.mark ? <mark class="hidden-char">{piece.text}</mark> : piece.text)),
      ])}
    </code>
  );
}

/** What stands for a line that is too long to draw: its size, and what of it changed. */
function LongLine({ line, other }: { line: DiffLine; other: DiffLine | null }): VNode {
  const t = messages().diff;
  const size = t.longLine(line.text.length);
  if (other === null) {
    return (
      <span class="long-line" data-part="long-line">
        <em>{size}</em> <Foreign text={shortened(line.text)} code />
      </span>
    );
  }
  const [before, after] = line.kind === "removed" ? [line, other] : [other, line];
  const piece = changedPiece(before.text, after.text);
  return (
    <span class="long-line" data-part="long-line">
      <em>
        {size}; {t.longSame(piece.head, piece.tail)} ({formatNumber(piece.beforeLength)} →{" "}
        {formatNumber(piece.afterLength)})
      </em>{" "}
      … <Foreign text={line.kind === "removed" ? piece.before : piece.after} code /> …
    </span>
  );
}

/** The line that a changed one stands opposite of: in a run of removed and then added lines, the one of the same rank. */
function partnerOf(lines: readonly DiffLine[], at: number): DiffLine | null {
  const line = lines[at];
  if (line === undefined || line.text.length <= LONG_LINE || line.kind === "context") return null;
  let start = at;
  while (start > 0 && isChanged(lines[start - 1])) start -= 1;
  let end = at;
  while (end + 1 < lines.length && isChanged(lines[end + 1])) end += 1;
  const run = lines.slice(start, end + 1);
  const removed = run.filter((one) => one.kind === "removed");
  const added = run.filter((one) => one.kind === "added");
  return line.kind === "removed" ? (added[removed.indexOf(line)] ?? null) : (removed[added.indexOf(line)] ?? null);
}

function isChanged(line: DiffLine | undefined): boolean {
  return line?.kind === "removed" || line?.kind === "added";
}
