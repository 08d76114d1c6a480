import { useSignalEffect } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { OpenSession } from "../sessions/open.js";
import { rowLabel } from "./rows.js";

/** New rows are gathered this long, so that a burst of them is one sentence. */
const REST = 800;

/** Says in a few words what has come, for those who do not see it. */
export function Announcer({ session }: { session: OpenSession }): VNode {
  const [said, setSaid] = useState("");
  const known = useRef(new Set<string>());
  const started = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    known.current = new Set();
    started.current = false;
    return () => clearTimeout(timer.current);
  }, [session]);
  useSignalEffect(() => {
    session.book.appended.value;
    if (session.loading.value) return;
    if (!started.current) {
      started.current = true;
      known.current = new Set(session.book.rows().map((row) => row.id));
      return;
    }
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      const fresh = session.book.rows().filter((row) => !known.current.has(row.id));
      for (const row of fresh) known.current.add(row.id);
      if (fresh.length > 0) setSaid(fresh.slice(-3).map(rowLabel).join(". "));
    }, REST);
  });
  return (
    <div class="visually-hidden" role="status" aria-live="polite" data-part="announcer">
      {said}
    </div>
  );
}
