/** The two themes of the viewer: of those at hand, the ones whose colours stand out enough from both backgrounds. */
export const LIGHT = "github-light-high-contrast";
export const DARK = "github-dark-high-contrast";

/** The dark one's colour of comments, and one that stands out from an added line by 4.5 to 1, also where a word of it is
 * marked. */
const DIM = /#9198a1/gi;
const READABLE = "#b7bdc8";

export const themes = {
  [LIGHT]: () => import("@pierre/highlights/themes/github-light-high-contrast"),
  [DARK]: async () => {
    const { default: theme } = await import("@pierre/highlights/themes/github-dark-high-contrast");
    return { default: JSON.parse(JSON.stringify(theme).replace(DIM, READABLE)) as typeof theme };
  },
};
