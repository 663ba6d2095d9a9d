import { signal } from '@preact/signals'
import { fill } from './fill.ts'

/** What the service says by itself, in the language of the console, by the English sentence: `no heartbeat for {time} s`. */
type Sentences = Readonly<Record<string, string>>

interface Known {
  readonly pattern: RegExp
  readonly names: readonly string[]
  readonly text: string
}

const FILES: Readonly<Record<string, () => Promise<{ readonly default: Sentences }>>> = {
  de: () => import('../../texts/said/de.json'),
  es: () => import('../../texts/said/es.json'),
  fr: () => import('../../texts/said/fr.json'),
  pt: () => import('../../texts/said/pt.json'),
}

const known = signal<readonly Known[]>([])

/** Loads the sentences of a language; what is shown changes when they are there. */
export async function loadSaid(language: string): Promise<void> {
  const file = await FILES[language]?.().catch(() => undefined)
  // The longest first: `{what} (away for {time})` fits what a longer one says better.
  const sentences = Object.entries(file?.default ?? {}).toSorted(([a], [b]) => lettersOf(b) - lettersOf(a))
  known.value = sentences.map(([english, text]) => ({ ...patternOf(english), text }))
}

/** A place that is filled in: `{name}`, or `{count|phone|phones}`. */
const PLACE = /\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g

/** The letters of an English sentence between its places. */
export function fragmentsOf(english: string): readonly string[] {
  return english
    .replaceAll(PLACE, (_, _name: string, one?: string, many?: string) => `\n${one ?? ''}\n${many ?? ''}\n`)
    .split('\n')
}

function lettersOf(english: string): number {
  return fragmentsOf(english).join('').length
}

function patternOf(english: string): Pick<Known, 'pattern' | 'names'> {
  const names: string[] = []
  const escaped = english.replaceAll(/[.*+?^$()[\]\\]/g, String.raw`\$&`)
  const pattern = escaped.replaceAll(PLACE, (_, name: string, one?: string, many?: string) => {
    if (one !== undefined) return `(?:${one}|${many})`
    names.push(name)
    return name === 'count' ? String.raw`(\d+)` : '(.+?)'
  })
  return { pattern: new RegExp(`^${pattern}$`, 's'), names }
}

/** Between what says one thing each. */
const SEAM = /[;:] | \(/

/** Words that no name of a part, a file or a network is. */
const ENGLISH =
  /\b(?:the|is|are|was|were|has|have|been|no|not|of|to|in|it|its|and|but|for|by|with|does|cannot|this|that|from|yes|which|there|every|nobody|they|because|when|until|before|after)\b/i

interface Translation {
  readonly text: string
  /** Whether nothing of it is English any more. */
  readonly isWhole: boolean
}

/** What the service says in English, in the reader's language; what nobody has written in it stays as it is. */
export function translated(english: string, language: string, locale: string): Translation {
  for (const { pattern, names, text } of known.value) {
    const match = pattern.exec(english)
    if (match === null) continue
    const [, ...given] = match
    const values = names.map((name, at) => [name, translated(given[at] ?? '', language, locale)] as const)
    const texts = Object.fromEntries(values.map(([name, value]) => [name, value.text]))
    return { text: fill(text, texts, language, locale), isWhole: values.every(([, value]) => value.isWhole) }
  }
  const seam = SEAM.exec(english)
  if (seam === null) return { text: english, isWhole: !ENGLISH.test(english) }
  const first = translated(english.slice(0, seam.index), language, locale)
  const rest = translated(english.slice(seam.index + seam[0].length), language, locale)
  // French has a space before a colon.
  const between = language === 'fr' ? seam[0].replace(/^[;:]/, '\u00A0$&') : seam[0]
  return { text: first.text + between + rest.text, isWhole: first.isWhole && rest.isWhole }
}
