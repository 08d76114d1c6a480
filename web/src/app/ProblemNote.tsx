import type { VNode } from "preact";
import { Foreign } from "../text/Foreign.js";
import { visibleProse } from "../text/visible.js";
import type { Problem } from "../wire/rows.js";

/** What went wrong, and what to do next. */
export function ProblemNote({ problem, lead }: { problem: Problem; lead?: string }): VNode {
  return (
    <div class="problem" role="alert" data-part="problem" data-code={problem.code}>
      <p>
        {lead !== undefined && <strong>{lead} </strong>}
        {visibleProse(problem.message)} <code class="problem-code">{problem.code}</code>
      </p>
      {problem.remedy !== "" && <p class="problem-remedy">{visibleProse(problem.remedy)}</p>}
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
