/** Whether an element is in view or close to it. One observer serves all of them. */

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { everything } from "../app/everything.js";

/** How far outside of the view something is made ready. */
const MARGIN = "500px 0px";

const watched = new WeakMap<Element, (near: boolean) => void>();
let observer: IntersectionObserver | undefined;

export function watchNearness(element: Element, tell: (near: boolean) => void): () => void {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const entry of entries) watched.get(entry.target)?.(entry.isIntersecting);
    },
    { rootMargin: MARGIN },
  );
  watched.set(element, tell);
  observer.observe(element);
  return () => {
    watched.delete(element);
    observer?.unobserve(element);
  };
}

export function useNear(box: RefObject<Element | null>): boolean {
  const [near, setNear] = useState(everything);
  useEffect(() => (box.current === null || everything ? undefined : watchNearness(box.current, setNear)), []);
  return near;
}
