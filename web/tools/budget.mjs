// Holds the built page to its size: what a browser loads before the page can be used, and all of it.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const KIB = 1024;
const INITIAL = 120 * KIB;
const WHOLE = 600 * KIB;

const dist = fileURLToPath(new URL("../dist/", import.meta.url));
const files = readdirSync(dist, { recursive: true, encoding: "utf8" }).filter((file) => statSync(dist + file).isFile());
const sizes = new Map(files.map((file) => [file, gzipSync(readFileSync(dist + file)).length]));

/** The page, what it names, and what those files import at once. The parser of Markdown is asked for at the start, too. */
function initial() {
  const found = new Set(["index.html"]);
  for (const file of found) {
    const text = readFileSync(dist + file, "utf8");
    const base = file.includes("/") ? `${file.slice(0, file.lastIndexOf("/"))}/` : "";
    const named = file.endsWith(".html")
      ? [...text.matchAll(/(?:src|href)="\.?\/?([^"]+)"/g)].map((match) => match[1])
      : [...text.matchAll(/(?:from|import)\s*"\.\/([^"]+\.js)"/g)].map((match) => base + match[1]);
    for (const one of named) if (sizes.has(one)) found.add(one);
  }
  for (const file of files) if (/\/render-[^/]*\.js$/.test(file)) found.add(file);
  return [...found].filter((file) => /\.(html|js|css)$/.test(file));
}

const sum = (names) => names.reduce((total, name) => total + (sizes.get(name) ?? 0), 0);
const report = [
  ["before the page can be used", sum(initial()), INITIAL],
  ["the whole build", sum(files), WHOLE],
];
for (const [what, size, limit] of report) {
  console.log(`${what}: ${(size / KIB).toFixed(1)} KiB gzipped, of at most ${limit / KIB}`);
}
if (report.some(([, size, limit]) => size > limit)) {
  console.error("The page has grown over its budget. See docs/decisions/dashboard-front-end.md.");
  process.exit(1);
}
