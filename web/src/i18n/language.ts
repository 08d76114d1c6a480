/** The reader's language: what the browser asks for first, unless the reader chose one. */
import { computed, signal } from "@preact/signals";
import { stored } from "../settings/stored.js";
import { en, type Messages } from "./en.js";
import { zh } from "./zh.js";

export type Language = "en" | "zh";

const catalogues: Record<Language, Messages> = { en, zh };

/** `auto`: as the browser asks. */
export const languageChoice = stored<"auto" | Language>("language", "auto", ["auto", "en", "zh"]);

const asked = signal(navigator.languages ?? [navigator.language]);

export const language = computed<Language>(() =>
  languageChoice.value === "auto" ? languageFor(asked.value) : languageChoice.value,
);

/** The first of the wanted languages that there is a catalogue for; English where there is none. */
export function languageFor(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const primary = tag.toLowerCase().split("-")[0];
    if (primary === "zh" || primary === "en") return primary;
  }
  return "en";
}

/** The catalogue in force. Read inside a component, it makes the component follow a change of language. */
export function messages(): Messages {
  return catalogues[language.value];
}

/** For `lang` attributes and for the formats of numbers and times. */
export function locale(): string {
  const region = asked.value.find((tag) => tag.toLowerCase().startsWith(language.value));
  return region ?? (language.value === "zh" ? "zh-CN" : "en");
}

export function formatNumber(value: number): string {
  return new Intl.NumberFormat(locale()).format(value);
}

export function formatTime(at: number): string {
  return new Intl.DateTimeFormat(locale(), { hour: "2-digit", minute: "2-digit" }).format(at);
}

/** Today's as a time, others as a date. */
export function formatWhen(at: number, now: number): string {
  const sameDay = new Date(at).toDateString() === new Date(now).toDateString();
  if (sameDay) return formatTime(at);
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  return new Intl.DateTimeFormat(locale(), {
    day: "numeric",
    month: "short",
    ...(sameYear ? {} : { year: "numeric" }),
  }).format(at);
}

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;

export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return new Intl.NumberFormat(locale(), {
    style: "unit",
    unit: UNITS[unit] ?? "byte",
    unitDisplay: unit === 0 ? "long" : "short",
    maximumFractionDigits: value < 10 && unit > 0 ? 1 : 0,
  }).format(value);
}
