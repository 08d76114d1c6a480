// @vitest-environment jsdom
import { describe, expect, it } from "vitest";
import { environmentOf, markupOf } from "../../src/markdown/render.js";

const NONE: ReadonlySet<number> = new Set();
const words = { covered: "on a card", written: "written by the agent" };

function markup(text: string, covered = NONE, line = 0): string {
  return markupOf(text, environmentOf(""), line, covered, words) ?? "PLAIN";
}

describe("Markdown of a model", () => {
  it("becomes markup", () => {
    expect(markup("**bold** and `code`")).toContain("<strong>bold</strong> and <code>code</code>");
  });

  it.each([
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a <b onclick='x()'>b</b>",
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>1</script>)",
    "![x](javascript:alert(1))",
    "<iframe src='//evil'></iframe>",
    '[x](https://a.b/"onmouseover="alert(1))',
    "```\n</code></pre><script>alert(1)</script>\n```",
    "```diff\n+<img src=x onerror=alert(1)>\n```",
    "<svg><style>@import'//evil'</style></svg>",
  ])("is never markup of its own: %s", (text) => {
    const holder = document.createElement("div");
    holder.innerHTML = markup(text);
    expect(holder.querySelectorAll("script, img, iframe, svg, style, object, form")).toHaveLength(0);
    for (const element of holder.querySelectorAll("*")) {
      for (const { name, value } of element.attributes) {
        expect(name).not.toMatch(/^on/);
        expect(value).not.toMatch(/^\s*(javascript|data):/i);
      }
    }
  });

  it("fetches no picture: it names where it is", () => {
    expect(markup("![a](https://evil.example/x.png)")).not.toContain("<img");
    expect(markup("![a](https://evil.example/x.png)")).toContain('href="https://evil.example/x.png"');
  });

  it("opens links elsewhere, without telling where from", () => {
    expect(markup("https://example.org")).toMatch(/rel="noopener noreferrer nofollow"/);
  });

  it("is plain text where the sanitiser is missing or fails", () => {
    const environment = environmentOf("");
    const missing = { isSupported: false, sanitize: (text: string) => text };
    const failing = {
      isSupported: true,
      sanitize: () => {
        throw new Error("blocked");
      },
    };
    const silent = { isSupported: true, sanitize: () => undefined };
    for (const sanitiser of [missing, failing, silent]) {
      expect(markupOf("**x**", environment, 0, NONE, words, sanitiser as never)).toBeNull();
    }
  });

  it("folds a diff away that a card shows, and no other", () => {
    const text = "before\n\n```diff\n-a\n+b\n```\n";
    expect(markup(text, new Set([2]))).toContain("<details");
    expect(markup(text, new Set([3]))).not.toContain("<details");
    expect(markup("```diff\n-a\n```\n", new Set([7]), 7)).toContain("<details");
    expect(markup("```diff\n-a\n```\n")).toContain("written by the agent");
    expect(markup("```js\n1\n```\n", new Set([0]))).not.toContain("<details");
  });

  it("colours the lines of a diff, escaped", () => {
    expect(markup("```diff\n--- a\n+++ b\n-x < y\n+x > y\n```")).toContain('<span class="md-removed">-x &lt; y</span>');
  });
});
