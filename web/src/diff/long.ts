/** What changed between two lines that are too long to show: the piece, and how much is the same around it. */

export interface ChangedPiece {
  /** Characters that both begin with, and end with. */
  head: number;
  tail: number;
  /** The pieces that differ, shortened to what can be read. */
  before: string;
  after: string;
  /** Characters of the pieces before they were shortened. */
  beforeLength: number;
  afterLength: number;
}

/** Characters of a piece, and of what stands around it, that are shown. */
export const PIECE = 240;
const AROUND = 40;

export function changedPiece(before: string, after: string): ChangedPiece {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before.charCodeAt(head) === after.charCodeAt(head)) head += 1;
  let tail = 0;
  while (
    tail < shorter - head &&
    before.charCodeAt(before.length - 1 - tail) === after.charCodeAt(after.length - 1 - tail)
  ) {
    tail += 1;
  }
  const from = Math.max(0, head - AROUND);
  const piece = (text: string): string => {
    const end = Math.min(text.length, text.length - tail + AROUND);
    return shortened(text.slice(wholeAt(text, from), wholeAt(text, end)));
  };
  return {
    head,
    tail,
    before: piece(before),
    after: piece(after),
    beforeLength: before.length - head - tail,
    afterLength: after.length - head - tail,
  };
}

/** The beginning and the end of a text that is longer than `PIECE`. */
export function shortened(text: string, size = PIECE): string {
  if (text.length <= size) return text;
  const half = Math.floor(size / 2);
  return `${text.slice(0, wholeAt(text, half))} … ${text.slice(wholeAt(text, text.length - half))}`;
}

/** The place, or the one before it, so that no pair of surrogates is cut. */
function wholeAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at;
}
