/** The title of a call. Those of Redline's own tools are ours to translate; what another agent calls its work is not. */
import { messages } from "../i18n/language.js";
import { said } from "../i18n/said.js";
import type { ToolRow } from "../wire/rows.js";

export function titleOf(call: Pick<ToolRow, "name" | "card" | "title"> | undefined, title = call?.title ?? ""): string {
  if (call === undefined || call.name === "" || call.card === "terminal") return title;
  return said(title, messages().titles) ?? title;
}
