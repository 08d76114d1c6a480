/** Stands where the viewer would load an engine that is not used; reaching it means that a viewer option is wrong. */
export default {};

export function absent(): never {
  throw new Error("this colouring engine is not part of the dashboard");
}

export {
  absent as createBundledHighlighter,
  absent as createCssVariablesTheme,
  absent as createHighlighterCore,
  absent as createJavaScriptRegexEngine,
  absent as createOnigurumaEngine,
  absent as normalizeTheme,
  absent as EncodedTokenMetadata,
  absent as INITIAL,
  absent as bundledLanguages,
  absent as themes,
};
