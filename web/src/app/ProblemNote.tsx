import type { VNode } from "preact";
import { messages } from "../i18n/language.js";
import { Foreign } from "../text/Foreign.js";
import { visibleProse } from "../text/visible.js";
import type { Problem } from "../wire/rows.js";

/** What went wrong, and what to do next. */
export function ProblemNote({ problem, lead }: { problem: Problem; lead?: string }): VNode {
  // The server speaks English; what it names (a path, a number) stays readable below.
  const known = messages().problems[problem.code];
  return (
    <div class="problem" role="alert" data-part="problem" data-code={problem.code}>
      <p>
        {lead !== undefined && lead !== "" && <strong>{lead} </strong>}
        {known ?? visibleProse(problem.message)} <code class="problem-code">{problem.code}</code>
      </p>
      {known !== undefined && (
        <p class="problem-remedy" lang="en">
          {visibleProse(problem.message)}
        </p>
      )}
      {problem.remedy !== "" && (
        <p class="problem-remedy" lang={known === undefined ? undefined : "en"}>
          {visibleProse(problem.remedy)}
        </p>
      )}
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
