import type consoleEn from '../../texts/en.json'
import { fill } from './fill.ts'

/** The name of a text of the console itself. */
export type TextKey = keyof typeof consoleEn

/** Texts of a language by their names. */
type Texts = Readonly<Record<string, string>>

let ownTexts: Texts = {}
let pluginTexts: Texts = {}
let language = 'en'

/** The language in force, `en` or `de`: for dates and numbers too. */
export function locale(): string {
  return navigator.languages.find((one) => one.startsWith(language)) ?? language
}

/** Loads the texts of the browser's language, English when there are none. Before anything is shown. */
export async function loadTexts(): Promise<void> {
  const wanted = navigator.languages.map((one) => one.slice(0, 2)).find((one) => one === 'en' || one === 'de')
  language = wanted ?? 'en'
  document.documentElement.lang = language
  const loading = loadPluginTexts()
  ownTexts = (await (language === 'de' ? import('../../texts/de.json') : import('../../texts/en.json')))
    .default
  await loading
}

/** Loads what plugins say, now that there are others. What could not be read is as it was. */
export async function loadPluginTexts(): Promise<void> {
  const answer = await fetch(`/v1/texts/${language}`).catch(() => undefined)
  if (answer?.ok === true) pluginTexts = await answer.json().catch(() => pluginTexts)
}

/**
 * A text, with what it names filled in: `{name}`, and `{count|card|cards}` for the form that a number needs.
 */
export function t(key: TextKey, values: Readonly<Record<string, string | number>> = {}): string {
  return fill(ownTexts[key] ?? pluginTexts[key] ?? key, values, language, locale())
}

/** The text of a key that is made at run time, of a state for instance; the word itself when there is none. */
export function word(prefix: string, value: string): string {
  const key = `${prefix}.${value}`
  return Object.hasOwn(ownTexts, key) || Object.hasOwn(pluginTexts, key) ? t(key as TextKey) : value
}

/** The values that `word` knows of a prefix. */
export function wordsOf(prefix: string): readonly string[] {
  const beginning = `${prefix}.`
  return [...Object.keys(ownTexts), ...Object.keys(pluginTexts)].flatMap((key) =>
    key.startsWith(beginning) ? [key.slice(beginning.length)] : [],
  )
}
