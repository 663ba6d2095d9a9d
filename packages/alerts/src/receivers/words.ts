import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Context, jsonIn, serviceInfoRef } from '@steeple/contracts'
import TEXTS from '../../texts/en.json' with { type: 'json' }
import { outageIn } from '../record.ts'
import type { Severity } from '../rules/rule.ts'

export interface Words {
  /** One line: how grave, what, where. */
  readonly title: string
  /** What happened and what it means for phones, what to do, since when, where to look; a line each. */
  readonly text: string
  readonly severity: Severity
  /** The page of the alert; undefined where nobody has said where the console is. */
  readonly link: string | undefined
  readonly isOver: boolean
}

/** The body of a message, as far as people read it. */
interface Told {
  readonly type: string
  readonly text: string
  readonly data: {
    readonly rule?: string
    readonly severity?: Severity
    readonly subject?: string
    readonly message?: string
    readonly started_at?: string
    readonly resolved_at?: string | null
    readonly node: { readonly name: string }
  }
}

const GRAVITY: Readonly<Record<Severity, string>> = { critical: 'CRITICAL', warning: 'Warning', info: 'Note' }

/** What plugins call their rules (`alerts.rule.<name>`), and what they say to do (`alerts.do.<name>`), in English. */
export type RuleTexts = Readonly<Record<string, string>>

/** Of the plugins that run; read each time, which is once for a message to people. */
export function ruleTexts(context: Pick<Context, 'maybe'>): RuleTexts {
  const plugins = context.maybe(serviceInfoRef)?.plugins() ?? []
  const said = plugins.flatMap(({ alerts = {}, textsDir }) =>
    textsDir === undefined || Object.keys(alerts).length === 0 ? [] : textsIn(textsDir),
  )
  return Object.assign({}, TEXTS, ...said)
}

function textsIn(dir: string): object {
  try {
    return Object(jsonIn(readFileSync(join(dir, 'en.json'), 'utf8')))
  } catch {
    // A message without them is better than none.
    return {}
  }
}

/** The same message as people read it; `link` is where the console is. */
export function wordsOf(body: string, link: string | undefined, texts: RuleTexts): Words {
  const { type, text, data } = JSON.parse(body) as Told // made by `messageOf`
  const { rule, message, severity = 'info', started_at: since, resolved_at: end } = data
  const place = link === undefined ? undefined : new URL('/alerts', link).href
  const isOver = type === 'alert.resolved'
  if (rule === undefined || message === undefined) {
    const title = `Test message from ${data.node.name}`
    return { title, text: linesOf([text, place]), severity, link: place, isOver }
  }
  const about = data.subject === undefined || data.subject === rule ? '' : ` (${data.subject})`
  const called = outageIn(message) ?? `${texts[`alerts.rule.${rule}`] ?? rule}${about}`
  const lines = isOver
    ? [`It was: ${message}`, `From ${timeOf(since)} to ${timeOf(end)}.`, place]
    : [message, texts[`alerts.do.${rule}`], `Since ${timeOf(since)}.`, place]
  return {
    title: `${isOver ? 'Over' : GRAVITY[severity]}: ${called} on ${data.node.name}`,
    text: linesOf(lines),
    severity,
    link: place,
    isOver,
  }
}

/** `2026-11-22 18:00 UTC` */
function timeOf(at: string | null | undefined): string {
  return at === undefined || at === null ? 'an unknown time' : `${at.slice(0, 16).replace('T', ' ')} UTC`
}

function linesOf(lines: readonly (string | undefined)[]): string {
  return lines.filter((line) => line !== undefined).join('\n')
}
