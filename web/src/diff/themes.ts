/** The two themes of the viewer: of those at hand, the ones whose colours stand out enough from both backgrounds. */
export const LIGHT = "github-light-high-contrast";
export const DARK = "github-dark-high-contrast";

export const themes = {
  [LIGHT]: () => import("@pierre/highlights/themes/github-light-high-contrast"),
  [DARK]: () => import("@pierre/highlights/themes/github-dark-high-contrast"),
};
