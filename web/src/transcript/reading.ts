/** What the rows of a transcript need from around them. */
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { OpenSession } from "../sessions/open.js";
import type { Keeper } from "./keeper.js";

export interface Reading {
  session: OpenSession;
  keeper: () => Keeper | null;
}

const Context = createContext<Reading | null>(null);

export const ReadingProvider = Context.Provider;

export function useReading(): Reading {
  const reading = useContext(Context);
  if (reading === null) throw new Error("drawn outside of a transcript");
  return reading;
}

/** Frames after which what was opened has its size. */
const OPENING = 300;

/** Opens or closes something under a header, which stays where it is meanwhile. */
export function keeping(keeper: Keeper | null, header: Element | null, change: () => void): void {
  if (keeper === null || header === null) {
    change();
    return;
  }
  keeper.pin(header);
  change();
  setTimeout(() => keeper.release(), OPENING);
}
