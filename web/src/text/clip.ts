/** The beginning of a text that is too long to stand where it does; null: it is short enough. */
export function clip(text: string, lines: number, characters: number): string | null {
  const rows = text.split("\n", lines + 1);
  let short = rows.slice(0, lines).join("\n");
  const tooMany = rows.length > lines;
  if (!tooMany && text.length <= characters) return null;
  if (short.length > characters) {
    short = short.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
  }
  return short;
}

/** A name or title that is too long for its place, without its middle: both ends of a name tell it from others. */
export function shortenedMiddle(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const half = Math.floor((characters - 1) / 2);
  const head = text.slice(0, half).replace(/[\ud800-\udbff]$/, "");
  const tail = text.slice(text.length - half).replace(/^[\udc00-\udfff]/, "");
  return `${head}…${tail}`;
}
