import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** Longer than the animation takes, for browsers that never say that it ended. */
const AT_MOST = 400;
const stillness = matchMedia("(prefers-reduced-motion: reduce)");

/** Content that is there while it is open, and while its closing is being drawn; then it is gone. */
export function Collapse({ open, children }: { open: boolean; children: () => ComponentChildren }): VNode | null {
  const [present, setPresent] = useState(open);
  const box = useRef<HTMLDivElement>(null);
  if (open && !present) setPresent(true);
  // Who wants no motion sees none, not even its first frame.
  if (!open && present && stillness.matches) setPresent(false);

  useEffect(() => {
    if (open || !present) return;
    let done = false;
    const finish = (): void => {
      if (done) return;
      done = true;
      setPresent(false);
    };
    const element = box.current;
    const ended = (event: TransitionEvent): void => {
      if (event.target === element) finish();
    };
    element?.addEventListener("transitionend", ended);
    const timer = setTimeout(finish, AT_MOST);
    return () => {
      done = true;
      clearTimeout(timer);
      element?.removeEventListener("transitionend", ended);
    };
  }, [open, present]);

  if (!open && (!present || stillness.matches)) return null;
  return (
    <div ref={box} class="collapse" data-state={open ? "open" : "closing"} inert={!open}>
      <div class="collapse-inner">{children()}</div>
    </div>
  );
}
