import { useSignalEffect } from "@preact/signals";
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { everything } from "../app/everything.js";
import { Icon } from "../app/Icon.js";
import { ProblemNote } from "../app/ProblemNote.js";
import { messages } from "../i18n/language.js";
import type { OpenSession } from "../sessions/open.js";
import { Announcer } from "./Announcer.js";
import { Keeper } from "./keeper.js";
import { type Reading, ReadingProvider } from "./reading.js";
import { Turn } from "./Turn.js";

/** The rows of a session, from those that are loaded to its end; earlier ones come as the reader nears them. */
export function Transcript({ session }: { session: OpenSession }): VNode {
  const t = messages();
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const room = useRef<HTMLDivElement>(null);
  const keeper = useRef<Keeper | null>(null);
  const reading = useMemo<Reading>(() => ({ session, keeper: () => keeper.current }), [session]);

  useLayoutEffect(() => {
    if (scroller.current === null || content.current === null || room.current === null) return;
    const own = new Keeper(scroller.current, content.current, room.current);
    keeper.current = own;
    own.toEnd();
    return () => {
      own.dispose();
      keeper.current = null;
    };
  }, [session]);

  // The oldest rows go while nobody looks at them.
  useSignalEffect(() => {
    if (session.book.appended.value > 0 && keeper.current?.following.peek() && !everything) {
      session.trim();
    }
  });

  const sections = session.book.sections.value;
  const problem = session.problem.value;
  return (
    <ReadingProvider value={reading}>
      <div ref={scroller} class="transcript" data-part="transcript" tabIndex={-1} id="transcript">
        <div ref={content} class="transcript-content">
          <Earlier session={session} scroller={scroller} />
          {problem !== null && (
            <div class="transcript-problem">
              <ProblemNote problem={problem} />
              <button type="button" class="button" onClick={() => void session.load()}>
                {t.app.retry}
              </button>
            </div>
          )}
          {sections.map((section) => (
            <Turn key={section.key} section={section} />
          ))}
          {session.loading.value && <p class="quiet-word loading">{t.app.loading}</p>}
        </div>
        <div ref={room} />
      </div>
      <ToEnd session={session} keeper={() => keeper.current} />
      <Announcer session={session} />
    </ReadingProvider>
  );
}

function Earlier({ session, scroller }: { session: OpenSession; scroller: { current: HTMLElement | null } }): VNode {
  const t = messages().row;
  const mark = useRef<HTMLDivElement>(null);
  const before = session.before.value;
  const loading = session.loadingEarlier.value;
  useEffect(() => {
    if (mark.current === null || before === null || loading) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) void session.loadEarlier();
      },
      { root: scroller.current, rootMargin: "800px 0px 0px 0px" },
    );
    observer.observe(mark.current);
    return () => observer.disconnect();
  }, [session, before, loading]);
  return (
    <div ref={mark} class="earlier" data-part="earlier">
      {before === null ? (
        session.loading.value ? null : (
          <span class="quiet-word">{t.start}</span>
        )
      ) : (
        <button type="button" class="link-button" disabled={loading} onClick={() => void session.loadEarlier()}>
          {loading ? t.loadingEarlier : t.earlier}
        </button>
      )}
    </div>
  );
}

/** For the reader who is somewhere else: how much has come since, and the way to it. */
function ToEnd({ session, keeper }: { session: OpenSession; keeper: () => Keeper | null }): VNode | null {
  const t = messages().row;
  const seen = useRef(0);
  const appended = session.book.appended.value;
  const following = keeper()?.following.value ?? true;
  if (following) {
    seen.current = appended;
    return null;
  }
  const count = appended - seen.current;
  return (
    <button type="button" class="to-end" data-part="to-end" onClick={() => keeper()?.toEnd()}>
      <Icon name="down" />
      {count > 0 ? t.newRows(count) : t.jump}
    </button>
  );
}
