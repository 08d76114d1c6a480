/** `?mount=all`: all rows are loaded and all viewers mounted and kept. For measuring what not doing so saves. */
export const everything = new URLSearchParams(location.search).get("mount") === "all";
