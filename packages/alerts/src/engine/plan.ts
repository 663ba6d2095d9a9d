import type { Finding, Level, Look, Rule } from '../rules/rule.ts'
import { type AlertRow, openKey } from '../store/alert-store.ts'
import { type RuleState, step } from './step.ts'

/** How many alerts there may be, so that one fault with many subjects is no storm. */
export interface Limits {
  /** Of one rule, with a subject each. */
  readonly perRule: number
  /** Of all rules. */
  readonly total: number
}

/** Of each rule fifty; of all five hundred, and one for all others of each rule. */
export const LIMITS: Limits = { perRule: 50, total: 500 }

/** The subject of the alert that stands for all others of its rule. */
export const OTHERS = '*'

/** What is to become of alerts. */
export type Change =
  | {
      readonly kind: 'begin'
      readonly rule: Rule
      readonly subject: string
      readonly ruleState: RuleState
      readonly finding: Finding
    }
  | {
      readonly kind: 'move'
      readonly row: AlertRow
      readonly ruleState: RuleState
      readonly finding: Finding
    }
  | { readonly kind: 'refresh'; readonly row: AlertRow; readonly finding: Finding }
  | { readonly kind: 'drop'; readonly row: AlertRow }
  | { readonly kind: 'resolve'; readonly row: AlertRow }

/** What a plan is made of. */
export interface PlanInput {
  /** All rules that there are. An alert of another one ends; one of a rule without a look waits. */
  readonly rules: ReadonlySet<string>
  readonly looks: readonly Look[]
  readonly open: readonly AlertRow[]
  readonly nowMs: number
  readonly limits: Limits
  /** What is said of an open alert whose subject nobody knows anything of now: `unknown`, or `good` when that lasts. */
  absent(key: string): Level
}

/** How old the value of an open alert may get before it is written anew, ms. */
const REFRESH_MS = 60_000

/** What is to be done about the alerts after a look at everything. Pure; the same input gives no change twice. */
export function planOf(input: PlanInput): readonly Change[] {
  const { rules, looks, open } = input
  const byRule = Map.groupBy(open, ({ rule }) => rule)
  const ended: Change[] = open
    .filter(({ rule }) => !rules.has(rule))
    .map((row) => ({ kind: row.state === 'pending' ? 'drop' : 'resolve', row }))
  let room = input.limits.total - open.filter(({ subject }) => subject !== OTHERS).length
  const changes = looks.flatMap((look) => {
    const made = changesOf(look, byRule.get(look.rule.name) ?? [], room, input)
    room -= made.filter((change) => change.kind === 'begin' && change.subject !== OTHERS).length
    return made
  })
  return [...ended, ...changes]
}

function changesOf(look: Look, rows: readonly AlertRow[], room: number, input: PlanInput): readonly Change[] {
  const own = rows.filter(({ subject }) => subject !== OTHERS)
  const group = rows.find(({ subject }) => subject === OTHERS)
  const known = new Set(own.map(({ subject }) => subject))
  const changes = own.map((row) => next(look.rule, row, findingOf(look, row, input), input))
  const stillBad = own.filter(({ subject }) => look.at(subject).level === 'bad').length
  let more = look.badCount - stillBad
  // While there is one for all others, whoever comes is one of them: the end of a storm must be no second one.
  if (more > 0 && group === undefined) {
    const free = Math.max(0, Math.min(room, input.limits.perRule - own.length))
    const fresh = taken(look.bad(), known, free)
    more -= fresh.length
    for (const subject of fresh) changes.push(begin(look.rule, subject, look.at(subject), input))
  }
  changes.push(ofOthers(look, group, more, input))
  return changes.filter((change) => change !== undefined)
}

function findingOf(look: Look, row: AlertRow, input: PlanInput): Finding {
  const finding = look.at(row.subject)
  return finding.level === 'unknown' ? { ...finding, level: input.absent(row.open_key) } : finding
}

/** The first so many that are not known yet. */
function taken(subjects: Iterable<string>, known: ReadonlySet<string>, most: number): readonly string[] {
  const found: string[] = []
  if (most === 0) return found
  for (const subject of subjects) {
    if (known.has(subject)) continue
    found.push(subject)
    if (found.length === most) break
  }
  return found
}

function ofOthers(
  { rule, isBlind }: Look,
  row: AlertRow | undefined,
  more: number,
  input: PlanInput,
): Change | undefined {
  const calm = isBlind && row !== undefined ? input.absent(row.open_key) : 'good'
  const finding: Finding = {
    level: more > 0 ? 'bad' : calm,
    value: more,
    threshold: undefined,
    message: `${more} more of ${rule.name}, beside those with an alert of their own`,
  }
  return row === undefined ? begin(rule, OTHERS, finding, input) : next(rule, row, finding, input)
}

function begin(rule: Rule, subject: string, finding: Finding, { nowMs }: PlanInput): Change | undefined {
  const ruleState = step(undefined, finding.level, nowMs, rule)
  return typeof ruleState === 'object' ? { kind: 'begin', rule, subject, ruleState, finding } : undefined
}

function next(rule: Rule, row: AlertRow, finding: Finding, { nowMs }: PlanInput): Change | undefined {
  const before = ruleStateOf(row)
  const after = step(before, finding.level, nowMs, rule)
  if (after === 'dropped') return { kind: 'drop', row }
  if (after === 'resolved') return { kind: 'resolve', row }
  if (typeof after === 'object' && after !== before) return { kind: 'move', row, ruleState: after, finding }
  const isNews = finding.message !== row.message || (finding.value ?? null) !== row.value
  const isOld = nowMs - row.updated_at_ms >= REFRESH_MS || nowMs < row.updated_at_ms
  return finding.level === 'bad' && isNews && isOld ? { kind: 'refresh', row, finding } : undefined
}

/** The part of an open alert that steps. */
export function ruleStateOf(row: AlertRow): RuleState {
  return {
    state: row.state === 'pending' ? 'pending' : 'firing',
    sinceMs: row.since_ms,
    clearSinceMs: row.clear_since_ms,
  }
}

/** Remembers since when nothing is known of subjects with an open alert. */
export interface Absences {
  /** `unknown` at first, `good` when it has lasted: what is gone for good is not bad any more. */
  levelOf(key: string, monotonicMs: number): Level
  /** Those that were not asked for since the last call are back. */
  sweep(): void
}

/** How long nothing may be known of a subject before its alert counts as well: longer than anything takes to start, ms. */
const ABSENT_MS = 300_000

/** Nothing is absent yet. */
export function absences(): Absences {
  let since = new Map<string, number>()
  let asked = new Map<string, number>()
  return {
    levelOf: (key, nowMs) => {
      const first = since.get(key) ?? nowMs
      asked.set(key, first)
      return nowMs - first >= ABSENT_MS ? 'good' : 'unknown'
    },
    sweep: () => {
      since = asked
      asked = new Map()
    },
  }
}

/** The key of what a change begins. */
export function keyOf(change: { readonly rule: Rule; readonly subject: string }): string {
  return openKey(change.rule.name, change.subject)
}
