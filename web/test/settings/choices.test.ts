// @vitest-environment happy-dom
import { effect } from "@preact/signals";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Choices } from "../../src/settings/choices.js";

beforeEach(() => localStorage.clear());

describe("what a person chose", () => {
  it("is there again after a reload, of the same session only", () => {
    new Choices("s1").choose("card:a", false);
    expect(new Choices("s1").choice("card:a")).toBe(false);
    expect(new Choices("s1").choice("card:b")).toBeNull();
    expect(new Choices("s2").choice("card:a")).toBeNull();
  });

  it("is told to whoever looks, and to nobody else", () => {
    const choices = new Choices("s1");
    const seen: (boolean | null)[] = [];
    const stop = effect(() => {
      seen.push(choices.choice("card:a"));
    });
    choices.choose("card:b", true);
    choices.choose("card:a", true);
    choices.choose("card:a", false);
    stop();
    choices.choose("card:a", true);
    expect(seen).toEqual([null, true, false]);
    expect(choices.choice("card:a")).toBe(true);
  });

  it("holds on this page where the browser keeps nothing", () => {
    vi.spyOn(Storage.prototype, "setItem").mockImplementation(() => {
      throw new DOMException("full", "QuotaExceededError");
    });
    const choices = new Choices("s1");
    choices.choose("card:a", true);
    expect(choices.choice("card:a")).toBe(true);
    vi.restoreAllMocks();
  });

  it("is not troubled by what somebody else left under its name", () => {
    localStorage.setItem("redline.choices.s1", '{"chosen":{"a":"yes","b":true}}');
    localStorage.setItem("redline.choices.s2", "][");
    expect(new Choices("s1").choice("a")).toBeNull();
    expect(new Choices("s1").choice("b")).toBe(true);
    expect(new Choices("s2").choice("a")).toBeNull();
  });

  it("forgets the oldest, so that it does not grow without end", () => {
    const choices = new Choices("s1");
    for (let at = 0; at < 2_100; at += 1) choices.choose(`card:${at}`, true);
    const again = new Choices("s1");
    expect(again.choice("card:0")).toBeNull();
    expect(again.choice("card:2099")).toBe(true);
  });
});
