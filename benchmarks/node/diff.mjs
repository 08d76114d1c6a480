// Answers on standard output how many milliseconds structuredPatch took: one request a line, {before, after} as paths.
// One warm process: the package is loaded and compiled before the first timed call.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { structuredPatch } from "diff";

for (let warm = 0; warm < 50; warm++) {
  const lines = Array.from({ length: 200 }, (_, at) => `line ${at} of ${warm}`);
  const changed = lines.map((line, at) => (at % 40 === 7 ? line + "!" : line));
  structuredPatch("a", "a", lines.join("\n"), changed.join("\n"), "", "", { context: 3 });
}

for await (const request of createInterface({ input: process.stdin })) {
  const { before, after } = JSON.parse(request);
  const old = readFileSync(before, "utf8");
  const now = readFileSync(after, "utf8");
  const start = performance.now();
  const patch = structuredPatch("a", "a", old, now, "", "", { context: 3 });
  const milliseconds = performance.now() - start;
  console.log(JSON.stringify({ milliseconds, hunks: patch.hunks.length }));
}
