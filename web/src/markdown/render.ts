/**
 * Markdown to markup that is safe to show. Two things guard it: the parser takes no HTML, and what it makes goes through
 * a sanitiser. Where the sanitiser is missing or fails, there is no markup.
 */
import DOMPurify from "dompurify";
import MarkdownIt, { type Env } from "markdown-it";

export interface FenceWords {
  /** Of a diff that a card shows already. */
  covered: string;
  /** Of one that none does. */
  written: string;
}

const ALLOWED = {
  ALLOWED_TAGS: [
    "a",
    "blockquote",
    "br",
    "code",
    "del",
    "details",
    "div",
    "em",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
  ],
  ALLOWED_ATTR: ["class", "data-part", "href", "rel", "start", "target", "tabindex", "title"],
  // The pattern below is for addresses, and would take these away.
  ADD_URI_SAFE_ATTR: ["data-part", "rel", "start", "tabindex", "target"],
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ALLOW_DATA_ATTR: false,
};

interface Environment extends Env {
  line?: number;
  covered?: ReadonlySet<number>;
  words?: FenceWords;
}

const parser = new MarkdownIt({ html: false, linkify: true, breaks: false });
parser.validateLink = (url: string) => /^(?:https?:|mailto:)/i.test(url.trim());

// A picture would be fetched from wherever the text says, and tell that place who reads it.
parser.renderer.rules.image = (tokens, at) => {
  const token = tokens[at];
  const source = String(token?.attrGet("src") ?? "");
  const text = token?.content || source;
  return `<a href="${escaped(source)}" rel="noopener noreferrer nofollow" target="_blank">${escaped(text)}</a>`;
};
parser.renderer.rules.link_open = (tokens, at, options, _environment, self) => {
  tokens[at]?.attrSet("target", "_blank");
  tokens[at]?.attrSet("rel", "noopener noreferrer nofollow");
  return self.renderToken(tokens, at, options);
};
parser.renderer.rules.table_open = () => '<div class="md-table" tabindex="0"><table>';
parser.renderer.rules.table_close = () => "</table></div>";
parser.renderer.rules.fence = (tokens, at, _options, environment: Environment = {}) => {
  const token = tokens[at];
  const language = (token?.info ?? "").trim().split(/\s+/)[0]?.toLowerCase() ?? "";
  const isDiff = ["diff", "patch", "udiff"].includes(language);
  const content = (token?.content ?? "").replace(/\n$/, "");
  const code = isDiff ? content.split("\n").map(diffLine).join("\n") : escaped(content);
  const block = `<pre class="md-code" tabindex="0"><code>${code}</code></pre>`;
  const line = (token?.map?.[0] ?? -1) + (environment.line ?? 0);
  if (!isDiff) return block;
  if (!environment.covered?.has(line)) {
    return `<figure class="md-fence" data-part="diff-fence"><figcaption>${escaped(environment.words?.written ?? "")}</figcaption>${block}</figure>`;
  }
  const words = escaped(environment.words?.covered ?? "");
  return `<details class="md-covered" data-part="covered-fence"><summary>${words}</summary>${block}</details>`;
};

function diffLine(line: string): string {
  const kind = /^\+(?!\+\+ )/.test(line)
    ? "added"
    : /^-(?!-- )/.test(line)
      ? "removed"
      : line.startsWith("@@")
        ? "at"
        : "";
  return kind === "" ? escaped(line) : `<span class="md-${kind}">${escaped(line)}</span>`;
}

function escaped(text: string): string {
  return parser.utils.escapeHtml(text);
}

/** The definitions of links, for all blocks of a text. */
export function environmentOf(definitions: string): Environment {
  const environment: Environment = {};
  if (definitions !== "") parser.parse(definitions, environment);
  return environment;
}

/** Markup of one block; null where it cannot be made safe: then the text is shown as it is. */
export function markupOf(
  source: string,
  environment: Environment,
  line: number,
  covered: ReadonlySet<number>,
  words: FenceWords,
  sanitiser: Pick<typeof DOMPurify, "isSupported" | "sanitize"> = DOMPurify,
): string | null {
  try {
    if (sanitiser.isSupported !== true) return null;
    const markup = parser.render(source, { ...environment, line, covered, words });
    const clean: unknown = sanitiser.sanitize(markup, ALLOWED);
    return typeof clean === "string" ? clean : null;
  } catch {
    return null;
  }
}
