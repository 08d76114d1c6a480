/**
 * What the server says in English, in the reader's language. A sentence of the catalogue may have holes, `{}`, for what
 * it is about: a path, a number, a name, which stays as it is.
 */
import { messages } from "./language.js";

interface Pattern {
  form: RegExp;
  translation: string;
}

const patterns = new WeakMap<object, readonly Pattern[]>();

/** Null: the catalogue does not have this sentence. */
export function said(text: string, sentences: Readonly<Record<string, string>> = messages().sentences): string | null {
  const whole = Object.hasOwn(sentences, text) ? sentences[text] : undefined;
  if (whole !== undefined) return whole;
  for (const { form, translation } of patternsOf(sentences)) {
    const match = form.exec(text);
    if (match !== null) return translation.replace(/\{(\d)\}/g, (_, at: string) => match[Number(at)] ?? "");
  }
  return null;
}

/** Those with most words of their own come first: `{}: {}` fits nearly everything. */
function patternsOf(sentences: Readonly<Record<string, string>>): readonly Pattern[] {
  let known = patterns.get(sentences);
  if (known === undefined) {
    const open = Object.entries(sentences).filter(([sentence]) => sentence.includes("{}"));
    open.sort(([a], [b]) => b.length - a.length);
    known = open.map(([sentence, translation]) => ({
      form: new RegExp(`^${sentence.split("{}").map(literally).join("([\\s\\S]+?)")}$`),
      translation,
    }));
    patterns.set(sentences, known);
  }
  return known;
}

function literally(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
