import type consoleEn from '../../texts/en.json'
import { fill } from './fill.ts'
import { loadSaid, translated } from './said.ts'

/** The name of a text of the console itself. */
export type TextKey = keyof typeof consoleEn

/** Texts of a language by their names. */
type Texts = Readonly<Record<string, string>>

let ownTexts: Texts = {}
let pluginTexts: Texts = {}
let language = 'en'

/** The texts of the console in each language that it speaks. */
const FILES: Readonly<Record<string, () => Promise<{ readonly default: Texts }>>> = {
  en: () => import('../../texts/en.json'),
  de: () => import('../../texts/de.json'),
  es: () => import('../../texts/es.json'),
  fr: () => import('../../texts/fr.json'),
  pt: () => import('../../texts/pt.json'),
}
/** Two letters each, as in ISO 639-1. */
export const LANGUAGES: readonly string[] = Object.keys(FILES)
/** Where this browser keeps the language that a person chose here. */
const CHOSEN = 'language'

/** The language that was chosen in this browser, empty where it is the browser's own. */
export function chosenLanguage(): string {
  const chosen = localStorage.getItem(CHOSEN) ?? ''
  return LANGUAGES.includes(chosen) ? chosen : ''
}

/** Keeps the choice and shows the console in it; empty follows the browser. */
export function chooseLanguage(name: string): void {
  if (name === '') localStorage.removeItem(CHOSEN)
  else localStorage.setItem(CHOSEN, name)
  location.reload()
}

/** The language in force with its country where the browser names one: for dates and numbers too. */
export function locale(): string {
  return navigator.languages.find((one) => one.startsWith(language)) ?? language
}

/** Loads the texts of the chosen or the browser's language, English when there are none. Before anything is shown. */
export async function loadTexts(): Promise<void> {
  const spoken = [chosenLanguage(), ...navigator.languages.map((one) => one.slice(0, 2))]
  language = spoken.find((one) => LANGUAGES.includes(one)) ?? 'en'
  document.documentElement.lang = language
  const loading = loadPluginTexts()
  void loadSaid(language)
  ownTexts = (await FILES[language]?.())?.default ?? {}
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

/** What the service says in English, in the reader's language as far as it is written in it. */
export function said(english: string): ReturnType<typeof translated> {
  const { text, isWhole } = translated(english, language, locale())
  return { text, isWhole: isWhole && text !== english }
}

/** What of a thing: `Country: set`, with what its language has before a colon. */
export function named(name: string, text: string): string {
  return t('ui.named', { name, text })
}

/** The text of a key that is made at run time; undefined when there is none. */
export function textIf(key: string, values?: Readonly<Record<string, string | number>>): string | undefined {
  return Object.hasOwn(ownTexts, key) || Object.hasOwn(pluginTexts, key)
    ? t(key as TextKey, values)
    : undefined
}

/** The same of a state for instance; the word itself when there is none. */
export function word(prefix: string, value: string): string {
  return textIf(`${prefix}.${value}`) ?? value
}

/** Values to choose from, each with its word; before them one that stands for none, where `none` says what that means. */
export function choices(
  prefix: string,
  values: readonly string[],
  none?: string,
): readonly { readonly value: string; readonly label: string }[] {
  const own = values.map((value) => ({ value, label: word(prefix, value) }))
  return none === undefined ? own : [{ value: '', label: none }, ...own]
}

/** What people call a component of the health board. Of several with one name it says which; without a name it is its own. */
export function componentText(name: string): string {
  const [, box, part] = /^node\/([^/]+)(?:\/(.+))?$/.exec(name) ?? []
  if (box !== undefined)
    return part === undefined ? t('ui.box', { box }) : t('ui.boxPart', { part: componentText(part), box })
  const parts = name.split('.')
  for (let length = parts.length; length > 0; length -= 1) {
    const own = parts.slice(0, length).join('.')
    const text = word('component', own)
    if (text !== own) return length === parts.length ? text : `${text} (${parts.slice(length).join('.')})`
  }
  return name
}

/** The values that `word` knows of a prefix. */
export function wordsOf(prefix: string): readonly string[] {
  const beginning = `${prefix}.`
  return [...Object.keys(ownTexts), ...Object.keys(pluginTexts)].flatMap((key) =>
    key.startsWith(beginning) ? [key.slice(beginning.length)] : [],
  )
}
