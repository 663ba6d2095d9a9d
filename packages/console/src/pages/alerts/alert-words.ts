import type { ItemOf } from '@steeple/client'
import { t, word } from '../../text/index.ts'
import type { Tone } from '../../ui/lamp.tsx'

/** An alert as the API lists it. */
export type Alert = ItemOf<'/v1/alerts'>

/** The colour of a severity. */
export function toneOf(severity: string): Tone {
  if (severity === 'critical') return 'bad'
  return severity === 'warning' ? 'warn' : 'none'
}

/** What a rule says in words; one that somebody has made is called by its name. */
export function ruleText(rule: string): string {
  return word('alerts.rule', rule)
}

/** What to do about it, of the built-in rules. */
export function remedyOf(rule: string): string | undefined {
  const text = word('alerts.do', rule)
  return text === rule ? undefined : text
}

/** What it is about; none where it is about the box as a whole. */
export function subjectText({ subject }: Alert): string {
  return subject === '*' ? t('alerts.allOthers') : subject
}
