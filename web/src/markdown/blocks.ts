/** Cuts Markdown into pieces that can be drawn one by one, so that text that is still being written costs its end only. */

export interface Block {
  source: string;
  /** Of its first line in the text, from 0. */
  line: number;
}

const FENCE = /^ {0,3}(`{3,}|~{3,})(.*)$/;
const CONTINUES = /^(?:[ \t]|[-*+][ \t]|\d{1,9}[.)][ \t]|>)/;
const HAS_CONTAINER = /^ {0,3}(?:[-*+][ \t]|\d{1,9}[.)][ \t]|>)/;

/** Cuts only at blank lines, outside of fences, and where no list or quote can go on. */
export function blocksOf(text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  let start = 0;
  let fence: string | null = null;
  const cut = (end: number): void => {
    const source = lines.slice(start, end).join("\n");
    if (source.trim() !== "") blocks.push({ source, line: start });
    start = end;
  };
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const mark = FENCE.exec(line);
    if (fence !== null) {
      const [run, rest] = [mark?.[1] ?? "", mark?.[2] ?? ""];
      if (run.startsWith(fence) && rest.trim() === "") fence = null;
      continue;
    }
    if (mark?.[1] !== undefined && !(mark[1].startsWith("`") && mark[2]?.includes("`"))) {
      fence = mark[1];
      continue;
    }
    if (line.trim() !== "") continue;
    const next = lines[at + 1];
    if (next === undefined || next.trim() === "") continue;
    const inContainer = HAS_CONTAINER.test(lines[start] ?? "");
    if (!(inContainer && CONTINUES.test(next)) && !/^(?: {4}|\t)/.test(next)) cut(at + 1);
  }
  cut(lines.length);
  return blocks;
}

const DEFINITION = /^ {0,3}\[[^\]\n]+\]:[ \t]*\S+.*$/gm;

/** The link definitions of a text: a block may use one that stands in another. */
export function definitionsOf(text: string): string {
  return (text.match(DEFINITION) ?? []).join("\n");
}
