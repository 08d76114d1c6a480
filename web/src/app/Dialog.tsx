import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { messages } from "../i18n/language.js";
import { Icon } from "./Icon.js";

/** The browser's own modal dialog: it keeps the focus inside, and Escape closes it. */
export function Dialog({
  title,
  part,
  close,
  wide = false,
  children,
}: {
  title: string;
  part: string;
  close: () => void;
  wide?: boolean;
  children: ComponentChildren;
}): VNode {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = box.current;
    if (dialog !== null && !dialog.open) {
      dialog.showModal();
      // To what the dialog is for, rather than to the button that closes it.
      dialog.querySelector<HTMLElement>("select, input, textarea")?.focus();
    }
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={box}
      class={wide ? "dialog wide" : "dialog"}
      data-part={part}
      aria-label={title}
      onClose={close}
      onClick={(event) => {
        if (event.target === box.current) close();
      }}
    >
      <div class="dialog-box">
        <header class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="icon-button" aria-label={messages().app.close} onClick={close}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
