// @vitest-environment happy-dom
import { processFile } from "@pierre/diffs";
import { describe, expect, it } from "vitest";
import { metadataOf } from "../../src/diff/metadata.js";
import { change, hunk, side } from "../changes.js";

const before = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
const after = [...before.slice(0, 4), "new 5", ...before.slice(5, 20), "added", ...before.slice(20)];
const edited = change({
  hunks: [
    hunk([" line 2", " line 3", " line 4", "-line 5", "+new 5", " line 6", " line 7", " line 8"], 2),
    hunk([" line 18", " line 19", " line 20", "+added", " line 21", " line 22", " line 23"], 18),
  ],
});
const PATCH = `--- a.py
+++ a.py
@@ -2,7 +2,7 @@
 line 2
 line 3
 line 4
-line 5
+new 5
 line 6
 line 7
 line 8
@@ -18,6 +18,7 @@
 line 18
 line 19
 line 20
+added
 line 21
 line 22
 line 23
`;

/** What the viewer's own parser leaves in for its own use. */
function plain(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data), (key, value) =>
    ["hunkSpecs", "hunkContext", "cacheKey"].includes(key) ? undefined : value,
  );
}

describe("a change for the viewer", () => {
  it("is what the viewer's own parser makes of the same patch", () => {
    const parsed = processFile(PATCH, { disableLineMatching: true });
    expect(plain(metadataOf(edited, null))).toEqual(plain(parsed));
  });

  it("holds the lines between the hunks where both texts are known", () => {
    const sides = { before: `${before.join("\n")}\n`, after: `${after.join("\n")}\n` };
    const file = (contents: string) => ({ name: "a.py", contents });
    const parsed = processFile(PATCH, {
      disableLineMatching: true,
      oldFile: file(sides.before),
      newFile: file(sides.after),
    });
    expect(plain(metadataOf(edited, sides))).toEqual(plain(parsed));
  });

  it("trusts the hunks, not a text that says otherwise", () => {
    const masked = { before: before.join("\n").replace("line 5", "⟦redacted⟧"), after: after.join("\n") };
    expect(metadataOf(edited, masked).isPartial).toBe(true);
  });

  it("marks a final newline that came or went", () => {
    const data = metadataOf(
      change({
        hunks: [hunk([" a", "-b", "+c"])],
        before: side({ final_newline: false, lines: 2 }),
        after: side({ lines: 2 }),
      }),
      null,
    );
    expect(data.hunks[0]?.noEOFCRDeletions).toBe(true);
    expect(data.hunks[0]?.noEOFCRAdditions).toBe(false);
    expect(data.deletionLines).toEqual(["a\n", "b"]);
  });

  it("gives the viewer no hidden character", () => {
    const data = metadataOf(change({ hunks: [hunk(["+if admin\u202e:\u200b", "+\ttab\r", "+a\u2028b\fc"])] }), null);
    expect(data.additionLines).toEqual(["if admin<U+202E>:<U+200B>\n", "\ttab\n", "a<U+2028>b^Lc\n"]);
  });

  it("is named for what happened to the file", () => {
    expect(metadataOf(change({ operation: "add" }), null).type).toBe("new");
    expect(metadataOf(change({ operation: "move", hunks: [], old_path: "/w/b.py" }), null).type).toBe("rename-pure");
  });
});
