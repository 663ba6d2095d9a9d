import { t } from '../text/index.ts'

/** Classes of characters in a pattern: `[a-z]`, `\d`, `\p{L}`. */
const CLASS = /\[(?:\\.|[^\]\\])*\]|\\[pP]\{\w+\}|\\[dDwWsS]/g
/** A character that would be syntax: `\+`. */
const ESCAPED = /\\./g
/** What of a pattern is no character: how often, where, and groups. */
const SYNTAX = /\{\d*,?\d*\}|\(\?<?[:=!]?|[()^$*+?|.]/g

/** Characters of a value that a pattern has in none of its places; empty where it is their order that does not fit. */
function strangers(pattern: string, value: string): readonly string[] {
  const classes = pattern.match(CLASS) ?? []
  const rest = pattern.replaceAll(CLASS, '')
  const literals = (rest.match(ESCAPED) ?? []).join('') + rest.replaceAll(ESCAPED, '').replaceAll(SYNTAX, '')
  try {
    const known = classes.map((one) => new RegExp(`^${one}$`, 'u'))
    return [...new Set(value)].filter(
      (character) => !literals.includes(character) && known.every((one) => !one.test(character)),
    )
  } catch {
    return []
  }
}

/** Why a value does not fit a pattern: the characters that it may not have, where it is those. */
export function misfitText(pattern: string, value: string): string {
  const found = strangers(pattern, value)
  if (found.length === 0) return t('parts.wrong.form')
  const named = found.map((one) =>
    one === ' ' ? t('parts.wrong.space') : /\p{C}|\p{Z}/u.test(one) ? t('parts.wrong.control') : `“${one}”`,
  )
  return t('parts.wrong.characters', { characters: [...new Set(named)].join(' ') })
}
