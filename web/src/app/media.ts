/** Whether the side panel covers the page; see `style/panel.css`. */
import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 1100px)");

export const panelCovers = signal(query.matches);
query.addEventListener("change", () => {
  panelCovers.value = query.matches;
});
