import { effect } from "@preact/signals";
import { render } from "preact";
import { App } from "./app/App.js";
import { listenToKeys } from "./app/keyboard.js";
import { connection, leaveSession, openSession, sessionIn, sessionList, title } from "./app/page.js";
import { prepareViewer, viewers } from "./diff/viewer.js";
import { messages } from "./i18n/language.js";
import { loadMarkdown } from "./markdown/Markdown.js";
import { applySettings } from "./settings/settings.js";
import "./style/page.css";

declare global {
  interface Window {
    /** For tests: what is mounted now, and what was opened and closed so far. */
    __redline?: { viewers: typeof viewers };
  }
}

window.__redline = { viewers };
applySettings(document.documentElement);
loadMarkdown();
listenToKeys();

function follow(): void {
  const session = sessionIn(location.hash);
  if (session !== null) openSession(session);
  else leaveSession();
}
addEventListener("hashchange", follow);
follow();

void sessionList.load();
connection.start();
effect(() => {
  const name = title.value;
  document.title = name === "" ? messages().app.title : `${name} · ${messages().app.title}`;
});

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
prepareViewer();
