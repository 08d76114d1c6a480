import type { VNode } from "preact";
import { messages } from "../i18n/language.js";
import { said } from "../i18n/said.js";
import { Foreign } from "../text/Foreign.js";
import { visibleProse } from "../text/visible.js";
import type { Problem } from "../wire/rows.js";

/** What went wrong, and what to do next. */
export function ProblemNote({ problem, lead }: { problem: Problem; lead?: string }): VNode {
  const { text, remedy, original } = wordsOf(problem);
  return (
    <div class="problem" role="alert" data-part="problem" data-code={problem.code}>
      <p>
        {lead !== undefined && lead !== "" && <strong>{lead} </strong>}
        {visibleProse(text)} <code class="problem-code">{problem.code}</code>
      </p>
      {remedy !== "" && <p class="problem-remedy">{visibleProse(remedy)}</p>}
      <Original text={original} />
      {problem.lines.length > 0 && (
        <pre class="problem-lines" tabIndex={0}>
          {problem.lines.map((line, at) => (
            <span key={at} class={line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : ""}>
              <Foreign text={line} />
              {"\n"}
            </span>
          ))}
        </pre>
      )}
    </div>
  );
}

/** What the server said, where the catalogue has other words for it: nothing that it named is lost. */
export function Original({ text }: { text: string }): VNode | null {
  if (text === "") return null;
  return (
    <details class="original">
      <summary>{messages().original}</summary>
      <p lang="en">{visibleProse(text)}</p>
    </details>
  );
}

/** A problem in the reader's language: sentence by sentence, or else by its code, with the original beside it. */
export function wordsOf(problem: Pick<Problem, "code" | "message" | "remedy">): {
  text: string;
  remedy: string;
  original: string;
} {
  const byCode = messages().problems[problem.code];
  const message = said(problem.message);
  const remedy = problem.remedy === "" ? "" : said(problem.remedy);
  const left: string[] = [];
  if (message === null && byCode !== undefined) left.push(problem.message);
  // Where nothing is known of a code, the reader's language is the server's.
  if (remedy === null && byCode !== undefined) left.push(problem.remedy);
  return {
    text: message ?? byCode ?? problem.message,
    remedy: remedy ?? (byCode === undefined ? problem.remedy : ""),
    original: left.join(" "),
  };
}
