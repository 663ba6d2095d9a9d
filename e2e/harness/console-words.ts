import type { Words } from './console-look.ts'
import type { ListedTexts } from './console-pages.ts'

/** A language of the console, and what must not be said in it. */
export interface Tongue {
  readonly texts: ListedTexts
  /** Names of texts: they are never shown. */
  readonly keys: ReadonlySet<string>
  /** Texts of the other language that are different in this one, as patterns. */
  readonly foreign: readonly (readonly [key: string, pattern: RegExp])[]
  /** Words of the other language that no sentence of this one has. */
  readonly words: RegExp | undefined
  /** What has been found of each text so far, undefined where it is one of the language: most stand on many pages. */
  readonly judged: Map<string, string | undefined>
}

/** Words of nearly every English sentence, none of them German. */
const ENGLISH =
  /\b(?:the|and|is|are|of|with|for|has|have|been|this|that|from|yes|which|cannot|it|there|every|nobody|not|by|to|but|its|they|because|no|when|until|before|after)\b/
/** A text with fewer letters of its own may well be the same in both. */
const LEAST_LETTERS = 4

/** What may be said in a language with these texts, where the other one has those. */
export function tongue(language: 'en' | 'de', texts: ListedTexts, others: ListedTexts): Tongue {
  const own = new Set(Object.values(texts))
  return {
    texts,
    keys: new Set(Object.keys(texts)),
    foreign: Object.entries(others)
      .filter(
        ([, text]) => !own.has(text) && text.replaceAll(/\{[^}]*\}|[^\p{L}]/gu, '').length >= LEAST_LETTERS,
      )
      .map(([key, text]) => [key, patternOf(text)]),
    words: language === 'de' ? ENGLISH : undefined,
    judged: new Map(),
  }
}

/** What of the words on a page is no sentence of its language: names of texts, texts of the other one, words of it. */
export function strangeWords(words: readonly Words[], spoken: Tongue): readonly string[] {
  return words.flatMap(({ text, where }) => {
    if (!spoken.judged.has(text)) spoken.judged.set(text, strangenessOf(text, spoken))
    const why = spoken.judged.get(text)
    return why === undefined ? [] : [`${where} says "${text}": ${why}`]
  })
}

function strangenessOf(text: string, { keys, foreign, words }: Tongue): string | undefined {
  // A key of the configuration may have the same name, but stands in a sentence.
  if (keys.has(text)) return 'that is the name of a text'
  const other = foreign.find(([, pattern]) => pattern.test(text))
  if (other !== undefined) return `that is ${other[0]} of the other language`
  return words?.test(text) === true ? `${words.exec(text)?.[0]} is of the other language` : undefined
}

/** A text with anything in its places: `{count|card|cards}` too. */
function patternOf(text: string): RegExp {
  const parts = text.split(/(\{[^}]*\})/).map((part) => {
    const forms = /^\{\w+\|([^|}]*)\|([^}]*)\}$/.exec(part)
    if (forms !== null) return `(?:${escaped(forms[1] ?? '')}|${escaped(forms[2] ?? '')})`
    return part.startsWith('{') ? '.+' : escaped(part)
  })
  return new RegExp(`^${parts.join('')}$`, 'u')
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
