import type consoleEn from '../../texts/en.json'
import { fill } from './fill.ts'

/** The name of a text of the console. Each plugin says its actions, events and errors in words of its own, by `word`. */
export type TextKey = keyof typeof consoleEn

/** Texts of a language by their names. */
export type Texts = Readonly<Record<string, string>>

let texts: Texts = {}
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
  return fill(texts[key] ?? key, values, language, locale())
}

/** The text of a key that is made at run time, of a state for instance; the word itself when there is none. */
export function word(prefix: string, value: string): string {
  const key = `${prefix}.${value}`
  return Object.hasOwn(texts, key) ? t(key as TextKey) : value
}

/** The values that `word` knows of a prefix. */
export function wordsOf(prefix: string): readonly string[] {
  const beginning = `${prefix}.`
  return Object.keys(texts).flatMap((key) => (key.startsWith(beginning) ? [key.slice(beginning.length)] : []))
}
