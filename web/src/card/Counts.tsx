import type { VNode } from "preact";
import { formatNumber, messages } from "../i18n/language.js";
import { diffstat, type Counts as Numbers } from "./change.js";

/** `−1 +2`; nothing where no line changed; with ≥ or ≈ before each where they are bounds. Coloured only where the change is on disk. */
export function Counts({ counts, quiet = false }: { counts: Numbers | null; quiet?: boolean }): VNode | null {
  if (counts === null || (counts.removed === 0 && counts.added === 0)) return null;
  const t = messages().card;
  const bound = counts.bound === "≥" ? `${t.atLeast} ` : counts.bound === "≈" ? `${t.about}: ` : "";
  const [removed, added] = [formatNumber(counts.removed), formatNumber(counts.added)];
  return (
    <span class={quiet ? "counts quiet" : "counts"} data-part="counts" title={bound === "" ? undefined : bound.trim()}>
      <span class="visually-hidden">{`${bound}${t.removedAdded(removed, added)}`}</span>
      <span class="removed" aria-hidden="true">{`${counts.bound}−${removed}`}</span>{" "}
      <span class="added" aria-hidden="true">{`${counts.bound}+${added}`}</span>
    </span>
  );
}

/** Five cells that show how a change is shared out. */
export function Diffstat({ counts }: { counts: Numbers | null }): VNode {
  return (
    <span class="diffstat" aria-hidden="true" data-part="diffstat">
      {diffstat(counts).map((cell, at) => (
        <i key={at} class={cell} />
      ))}
    </span>
  );
}
