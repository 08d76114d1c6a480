// @vitest-environment happy-dom
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { en } from "../../src/i18n/en.js";
import { languageFor } from "../../src/i18n/language.js";
import { zh } from "../../src/i18n/zh.js";

/** Attributes whose values a person sees or hears. */
const SEEN = new Set(["title", "alt", "placeholder", "aria-label", "aria-description", "label", "summary"]);
/** Values of ours that are no words of a language. */
const NO_WORDS = /^[\s\p{P}\p{S}\d]*$/u;

describe("the catalogues", () => {
  it("say the same things", () => {
    const shape = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.length
        : value !== null && typeof value === "object"
          ? Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shape(one)]))
          : typeof value;
    // The server's own sentences are English already.
    expect(shape({ ...zh, problems: {}, sentences: {}, titles: {} })).toEqual(shape({ ...en, sentences: {} }));
  });

  it("are chosen by what the browser asks for first", () => {
    expect(languageFor(["zh-TW", "en"])).toBe("zh");
    expect(languageFor(["fr-FR", "en-GB", "zh"])).toBe("en");
    expect(languageFor(["fr"])).toBe("en");
  });

  it("hold every word that the page says", () => {
    const root = join(import.meta.dirname, "../../src");
    const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".tsx"));
    expect(files.length).toBeGreaterThan(20);
    const found: string[] = [];
    for (const file of files) {
      const source = ts.createSourceFile(
        file,
        readFileSync(join(root, file), "utf8"),
        ts.ScriptTarget.ESNext,
        true,
        ts.ScriptKind.TSX,
      );
      const report = (node: ts.Node, text: string): void => {
        if (!NO_WORDS.test(text))
          found.push(`${file}:${source.getLineAndCharacterOfPosition(node.pos).line + 1} ${text.trim()}`);
      };
      const visit = (node: ts.Node): void => {
        if (ts.isJsxText(node)) report(node, node.text);
        if (ts.isJsxAttribute(node) && SEEN.has(node.name.getText())) {
          const value = node.initializer;
          if (value !== undefined && ts.isStringLiteral(value)) report(node, value.text);
          if (value !== undefined && ts.isJsxExpression(value) && value.expression !== undefined) {
            const words = value.expression;
            if (ts.isStringLiteralLike(words)) report(node, words.text);
            if (ts.isTemplateExpression(words)) {
              for (const part of [words.head.text, ...words.templateSpans.map((span) => span.literal.text)])
                report(node, part);
            }
          }
        }
        if (ts.isJsxExpression(node) && node.expression !== undefined && !ts.isJsxAttribute(node.parent)) {
          if (ts.isStringLiteralLike(node.expression)) report(node, node.expression.text);
        }
        ts.forEachChild(node, visit);
      };
      visit(source);
    }
    expect(found).toEqual([]);
  });
});
