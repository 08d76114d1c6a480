import type { VNode } from "preact";
import { messages } from "../i18n/language.js";
import { Dialog } from "./Dialog.js";
import { keysOpen } from "./page.js";

export function KeyList(): VNode | null {
  if (!keysOpen.value) return null;
  const t = messages().keys;
  return (
    <Dialog
      title={t.title}
      part="keys-dialog"
      close={() => {
        keysOpen.value = false;
      }}
    >
      <dl class="keys">
        {t.list.map(([key, does]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
