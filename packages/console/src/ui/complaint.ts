import type { Problem } from '@steeple/client'
import { useState } from 'preact/hooks'
import { t } from '../text/index.ts'

export type Line = HTMLInputElement | HTMLTextAreaElement

/** What a line has to say of what was filled in. */
export interface Complaint {
  readonly complaint: string | undefined
  /** The browser finds it wrong when the form is sent: what it would say in its own words is said here in the reader's. */
  readonly onInvalid: (event: Event & { readonly currentTarget: Line }) => void
  /** Something else was filled in: what was wrong may be right now. */
  readonly onLine: (line: Line) => void
}

interface Told {
  readonly text: string
  /** What was in the line then. */
  readonly value: string
}

/**
 * Says at a line itself, in the reader's language, why the browser will not send it; the first such line has the focus. `value` is what
 * is in the line: of another one, which a button has put there, nothing was said.
 */
export function useComplaint(value?: string): Complaint {
  const [told, setTold] = useState<Told>()
  const tell = (line: Line): void => setTold({ text: complaintOf(line), value: line.value })
  return {
    complaint: value === undefined || told?.value === value ? told?.text : undefined,
    onInvalid: (event) => {
      event.preventDefault()
      const line = event.currentTarget
      tell(line)
      if (firstWrongIn(line.form) === line) line.focus()
    },
    onLine: (line) => {
      if (told === undefined) return
      if (line.validity.valid) setTold(undefined)
      else tell(line)
    },
  }
}

/** Fieldsets are wrong too when something in them is. */
function firstWrongIn(form: HTMLFormElement | null): Element | undefined {
  return [...(form?.elements ?? [])].find((one) =>
    one.matches('input:invalid, textarea:invalid, select:invalid'),
  )
}

function complaintOf(line: Line): string {
  const { validity, type } = line
  const [min, max] = line instanceof HTMLInputElement ? [line.min, line.max] : ['', '']
  if (type === 'file') return t('parts.wrong.file')
  if (validity.badInput) return t(type === 'number' ? 'parts.wrong.number' : 'parts.wrong.date')
  if (validity.valueMissing) return t('parts.wrong.missing')
  if (validity.tooShort) return t('parts.wrong.short', { count: line.minLength })
  if (validity.tooLong) return t('parts.wrong.long', { count: line.maxLength })
  if (validity.rangeUnderflow) return t('parts.wrong.low', { least: min })
  if (validity.rangeOverflow) return t('parts.wrong.high', { most: max })
  if (validity.stepMismatch) return t('parts.wrong.number')
  if (validity.customError) return line.validationMessage
  if (line.inputMode === 'decimal') return t('parts.wrong.digits')
  return misfitText(line instanceof HTMLInputElement ? line.pattern : '', line.value)
}

/** What the service's word for a broken rule is in the reader's language, of a value; undefined where only its own words say it. */
export function refusalText(
  { rule = '', limit = '' }: Problem['details'][number],
  value = '',
): string | undefined {
  return rule === 'pattern' ? misfitText(String(limit), value) : REFUSALS[rule]?.(limit)
}

const REFUSALS: Readonly<Record<string, (limit: number | string) => string | undefined>> = {
  required: () => t('parts.wrong.missing'),
  minimum: (least) => t('parts.wrong.low', { least }),
  exclusiveMinimum: (least) => t('parts.wrong.above', { least }),
  maximum: (most) => t('parts.wrong.high', { most }),
  exclusiveMaximum: (most) => t('parts.wrong.below', { most }),
  minLength: (count) => (count === 1 ? t('parts.wrong.missing') : t('parts.wrong.short', { count })),
  maxLength: (count) => t('parts.wrong.long', { count }),
  format: (format) => t(format === 'date-time' ? 'parts.wrong.date' : 'parts.wrong.form'),
  type: (type) => {
    if (type === 'integer') return t('parts.wrong.number')
    return type === 'number' ? t('parts.wrong.digits') : undefined
  },
}

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
