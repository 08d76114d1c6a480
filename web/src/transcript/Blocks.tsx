import type { VNode } from "preact";
import { messages } from "../i18n/language.js";
import { Foreign } from "../text/Foreign.js";
import { visibleProse } from "../text/visible.js";
import type { Block } from "../wire/rows.js";

/** Blocks of content: text, an image, or the name of something else. */
export function Blocks({ blocks }: { blocks: readonly Block[] }): VNode | null {
  const t = messages().row;
  if (blocks.length === 0) return null;
  return (
    <div class="blocks">
      {blocks.map((block, at) =>
        block.image !== null ? (
          <img key={at} class="block-image" src={block.image} alt={block.text ?? t.image} loading="lazy" />
        ) : block.text !== null ? (
          <pre key={at} class="block-text" tabIndex={0}>
            {visibleProse(block.text)}
          </pre>
        ) : (
          <p key={at} class="quiet-word">
            {t.attachment}: <Foreign text={block.type} />
          </p>
        ),
      )}
    </div>
  );
}
