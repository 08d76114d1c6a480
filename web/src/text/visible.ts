/**
 * Making every character of foreign text visible: what a model, a file or a path holds may reorder a line, hide in it,
 * or draw nothing. Controls stand in caret notation (`^[`), odd bytes as `\xE9`, all other hidden characters as their
 * code point (`<U+202E>`). Joiners and selectors inside an emoji are left alone: there they are the emoji.
 */

export interface Piece {
  text: string;
  /** The text stands for hidden characters. */
  mark: boolean;
}

/** Enough to know that nothing has to be done: printable ASCII. */
const PLAIN = /^[\x20-\x7e]*$/;
const SUSPECT =
  /^\p{M}|[\p{C}\p{Zl}\p{Zp}]|(?![ \u3000])\p{Zs}|[\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]|\u034f|[\u180b-\u180f]|[\ufe00-\ufe0f]|[\u{e0100}-\u{e01ef}]/u;
const BLANK = new Set([0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0]);
const NOT_SEEN = /[\p{Cc}\p{Cf}\p{Cn}\p{Zl}\p{Zp}]/u;
const SPACE = /\p{Zs}/u;
const PICTURE = /\p{Extended_Pictographic}|\p{Emoji_Modifier}|[\u{1f1e6}-\u{1f1ff}]/u;
const COMBINING = /^\p{M}/u;

/** For a line, a path, a title: every character seen, tabs and newlines too. */
export function visible(text: string): string {
  return isPlain(text)
    ? text
    : pieces(text)
        .map((piece) => piece.text)
        .join("");
}

/** For a line of code: as `visible`, but tabs stay tabs and a carriage return at the end is left out. */
export function visibleCode(line: string): string {
  if (isPlain(line)) return line;
  return line.replace(/\r$/, "").split("\t").map(visible).join("\t");
}

/** For text in sentences and for output: newlines and tabs stay, and so do the spaces of good typography. */
export function visibleProse(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .split("\n")
    .map((line) =>
      isPlain(line)
        ? line
        : line
            .split("\t")
            .map((part) => visible(part.replace(/[\u00a0\u2000-\u200a\u202f\u205f]/g, " ")))
            .join("\t"),
    )
    .join("\n");
}

/** The visible form in runs, so that what stands for a hidden character can be drawn differently. */
export function pieces(text: string): Piece[] {
  if (isPlain(text)) return text === "" ? [] : [{ text, mark: false }];
  const found: Piece[] = [];
  const characters = Array.from(text);
  let plain = "";
  const flush = (): void => {
    if (plain !== "") found.push({ text: found.length === 0 ? anchored(plain) : plain, mark: false });
    plain = "";
  };
  characters.forEach((character, at) => {
    const form = formOf(character);
    if (form === null || belongsToEmoji(characters, at)) plain += character;
    else {
      flush();
      found.push({ text: form, mark: true });
    }
  });
  flush();
  return found;
}

function isPlain(text: string): boolean {
  return PLAIN.test(text) || !SUSPECT.test(text);
}

/** Null: the character is seen as it is. */
function formOf(character: string): string | null {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20 || code === 0x7f) return `^${String.fromCharCode(code ^ 0x40)}`;
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${(code - 0xdc00).toString(16).toUpperCase()}`;
  if (isSurrogate(code)) return `\\u${code.toString(16).toUpperCase()}`;
  const hidden =
    isBidirectional(code) ||
    BLANK.has(code) ||
    isSelector(code) ||
    NOT_SEEN.test(character) ||
    (code !== 0x20 && code !== 0x3000 && SPACE.test(character));
  return hidden ? `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>` : null;
}

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}

function isBidirectional(code: number): boolean {
  return (
    code === 0x061c ||
    code === 0x200e ||
    code === 0x200f ||
    (code >= 0x202a && code <= 0x202e) ||
    (code >= 0x2066 && code <= 0x2069)
  );
}

function isSelector(code: number): boolean {
  return (
    (code >= 0xfe00 && code <= 0xfe0f) || (code >= 0xe0100 && code <= 0xe01ef) || (code >= 0x180b && code <= 0x180f)
  );
}

function belongsToEmoji(characters: readonly string[], at: number): boolean {
  const code = characters[at]?.codePointAt(0) ?? 0;
  const before = characters[at - 1] ?? "";
  const after = characters[at + 1] ?? "";
  if (code === 0xfe0e || code === 0xfe0f) {
    return PICTURE.test(before) || (/[0-9#*]/.test(before) && after === "\u20e3");
  }
  return code === 0x200d && (before === "\ufe0f" || PICTURE.test(before)) && PICTURE.test(after);
}

/** A combining mark at the beginning would be drawn onto what stands before the text: give it a circle to stand on. */
function anchored(text: string): string {
  return COMBINING.test(text) ? `\u25cc${text}` : text;
}
