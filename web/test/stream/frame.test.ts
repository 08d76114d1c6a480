import { describe, expect, it } from "vitest";
import { Frame } from "../../src/stream/frame.js";

describe("a frame", () => {
  it("takes all that came since the last one at once, in order", () => {
    const waiting: (() => void)[] = [];
    const seen: number[][] = [];
    const frame = new Frame<number>(
      (items) => seen.push(items),
      (run) => waiting.push(run),
    );
    for (let at = 0; at < 500; at += 1) frame.add(at);
    expect(waiting).toHaveLength(1);
    waiting.shift()?.();
    expect(seen).toHaveLength(1);
    expect(seen[0]).toHaveLength(500);
    expect(seen[0]?.at(-1)).toBe(499);
    frame.add(1);
    expect(waiting).toHaveLength(1);
  });
});
