import { fill } from './fill.ts'

/** The texts of each area: its English file adds them here. */
// biome-ignore lint/suspicious/noEmptyInterface: each area adds to it.
export interface AreaTexts {}

/** The name of a text. */
export type TextKey = { [Area in keyof AreaTexts]: keyof AreaTexts[Area] }[keyof AreaTexts]

/** All texts of a language. */
export type Texts = Readonly<Record<TextKey, string>>

let texts: Texts | undefined
let language = 'en'

/** The language in force, `en` or `de`: for dates and numbers too. */
export function locale(): string {
  return navigator.languages.find((one) => one.startsWith(language)) ?? language
}

/** Loads the texts of the browser's language, English when there are none. Before anything is shown. */
export async function loadTexts(): Promise<void> {
  const wanted = navigator.languages.map((one) => one.slice(0, 2)).find((one) => one === 'en' || one === 'de')
  language = wanted ?? 'en'
  texts = language === 'de' ? (await import('./de.ts')).de : (await import('./en.ts')).en
  document.documentElement.lang = language
}

/**
 * A text, with what it names filled in: `{name}`, and `{count|card|cards}` for the form that a number needs.
 */
export function t(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return fill(texts?.[key] ?? key, values, language, locale())
}

/** The text of a key that is made at run time, of a state for instance; the word itself when there is none. */
export function word(prefix: string, value: string): string {
  const key = `${prefix}.${value}`
  return texts !== undefined && Object.hasOwn(texts, key) ? t(key as TextKey) : value
}
