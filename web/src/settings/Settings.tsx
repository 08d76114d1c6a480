import type { Signal } from "@preact/signals";
import type { VNode } from "preact";
import { Dialog } from "../app/Dialog.js";
import { settingsOpen } from "../app/page.js";
import { languageChoice, messages } from "../i18n/language.js";
import { cardStart, diffStyle, diffView, diffWrap, theme } from "./settings.js";

export function Settings(): VNode | null {
  if (!settingsOpen.value) return null;
  const t = messages().settings;
  return (
    <Dialog
      title={t.title}
      part="settings-dialog"
      close={() => {
        settingsOpen.value = false;
      }}
    >
      <div class="form">
        <Choice name="theme" label={t.theme} setting={theme} words={t.themes} />
        <Choice name="language" label={t.language} setting={languageChoice} words={t.languages} />
        <Choice name="cards" label={t.cards} setting={cardStart} words={t.cardStarts} />
        <Choice name="diff-style" label={t.diff} setting={diffStyle} words={t.styles} />
        <Choice name="diff-wrap" label={t.lines} setting={diffWrap} words={t.wraps} />
        <Choice name="diff-view" label={t.view} setting={diffView} words={t.views} />
      </div>
    </Dialog>
  );
}

function Choice<T extends string>({
  name,
  label,
  setting,
  words,
}: {
  name: string;
  label: string;
  setting: Signal<T>;
  words: Record<T, string>;
}): VNode {
  return (
    <fieldset class="choice" data-part={`setting-${name}`}>
      <legend>{label}</legend>
      <div class="segments">
        {(Object.keys(words) as T[]).map((value) => (
          <label key={value} data-value={value}>
            <input
              type="radio"
              name={name}
              value={value}
              checked={setting.value === value}
              onChange={() => {
                setting.value = value;
              }}
            />
            <span>{words[value]}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
