/** Values that outlive the page, each under a name of its own in this browser. */
import { effect, type Signal, signal } from "@preact/signals";

const PREFIX = "redline.";

/** Null also where the browser keeps nothing for this page. */
export function read(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

/** Where the browser keeps nothing, the choice holds until the page is left. */
export function write(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Full, or forbidden: nothing a person has to do anything about.
  }
}

export function names(prefix: string): string[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX + prefix))
      .map((key) => key.slice(PREFIX.length));
  } catch {
    return [];
  }
}

export function forget(name: string): void {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // As in `write`.
  }
}

/** A setting that is one of `allowed`; anything else that is found counts as not set. Other tabs follow. */
export function stored<T extends string>(name: string, initial: T, allowed: readonly T[]): Signal<T> {
  const valid = (value: string | null): T => allowed.find((one) => one === value) ?? initial;
  const setting = signal(valid(read(name)));
  let first = true;
  effect(() => {
    const { value } = setting;
    if (!first) write(name, value);
    first = false;
  });
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + name) setting.value = valid(event.newValue);
  });
  return setting;
}
