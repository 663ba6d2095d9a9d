import type { ObservedTx } from '@steeple/contracts'
import type { AlertParts } from '../parts.ts'
import type { Finding, Level, Look, Rule } from '../rules/rule.ts'
import {
  ALERTS,
  type AlertRow,
  MOST_CHARACTERS,
  newAlertId,
  openAlerts,
  openKey,
  type SilenceRow,
  silencesAt,
} from '../store/alert-store.ts'
import { tell } from '../webhooks/message.ts'
import { type UrgentMessages, urgentMessages } from './urgent.ts'

/** How many alerts there may be, so that one fault with many subjects is no storm. */
interface Limits {
  /** Of one rule, with a subject each. */
  readonly perRule: number
  /** Of all rules. */
  readonly total: number
}

/** Of each rule fifty; of all five hundred, and one for all others of each rule. */
const LIMITS: Limits = { perRule: 50, total: 500 }

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
interface PlanInput {
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
function ruleStateOf(row: AlertRow): RuleState {
  return {
    state: row.state === 'pending' ? 'pending' : 'firing',
    sinceMs: row.since_ms,
    clearSinceMs: row.clear_since_ms,
  }
}

/** Remembers since when nothing is known of subjects with an open alert. */
interface Absences {
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

/**
 * What looks once at everything, over the watches of the parts, and keeps the alerts as it is. What cannot be looked at is logged,
 * and stays as it was. All that it must not forget is in the store.
 */
export function alertEngine(shared: AlertParts): () => Promise<void> {
  const parts: EngineParts = { ...shared, urgent: urgentMessages(shared) }
  const gone = absences()
  return async () => {
    try {
      await lookOnce(parts, gone)
    } finally {
      await parts.urgent.see()
    }
  }
}

interface EngineParts extends AlertParts {
  readonly urgent: UrgentMessages
}

/** One transaction of what a look has found. */
interface Turn extends EngineParts {
  readonly tx: ObservedTx
  readonly nowMs: number
  readonly silences: ReadonlyMap<string, SilenceRow>
}

async function lookOnce(parts: EngineParts, gone: Absences): Promise<void> {
  const { context } = parts
  const looks = await looksOf(parts)
  const nowMs = Math.floor(context.clock.nowMs())
  const open = await openAlerts(context.db)
  const silences = await silencesAt(context.db, nowMs)
  const monotonicMs = context.clock.monotonicMs()
  const absent = (key: string) => gone.levelOf(key, monotonicMs)
  const changes = planOf({ rules: parts.names(), looks, open, nowMs, limits: LIMITS, absent })
  gone.sweep()
  const changed = new Set(changes.map((change) => ('row' in change ? change.row.id : '')))
  // Those that fire and were silenced then, and are not any more.
  const untold = open.filter((row) => isUntold(row) && !silences.has(row.open_key) && !changed.has(row.id))
  parts.metrics.open(open)
  if (changes.length + untold.length === 0) return
  await context.observe(async (tx) => {
    const turn: Turn = { ...parts, tx, nowMs, silences }
    for (const change of changes) await apply(turn, change)
    for (const { id } of untold) {
      const row = await ALERTS.find(tx, { id })
      if (row !== undefined && isUntold(row)) await putTold(turn, row, await tellFiring(turn, row))
    }
  })
  parts.metrics.open(await openAlerts(context.db))
}

function isUntold({ state, is_told }: AlertRow): boolean {
  return state === 'firing' && is_told === 0
}

async function looksOf({ context, watches }: AlertParts): Promise<readonly Look[]> {
  const looks = await Promise.all(
    watches.map(async (watch) => {
      try {
        return await watch.looks()
      } catch (error) {
        context.log.warn({ about: watch.about, err: error }, 'rules could not be looked at')
        return []
      }
    }),
  )
  return looks.flat()
}

async function apply(turn: Turn, change: Change): Promise<void> {
  const { tx, nowMs } = turn
  if (change.kind === 'begin') {
    const row = newRow(change, nowMs)
    await ALERTS.insert(tx, row)
    if (row.state === 'firing') await fire(turn, row)
    return
  }
  // Somebody may have acknowledged it meanwhile.
  const row = await ALERTS.find(tx, { id: change.row.id })
  if (row === undefined || row.state === 'resolved') return
  if (change.kind === 'drop') await ALERTS.remove(tx, { id: row.id })
  else if (change.kind === 'resolve') await resolve(turn, row)
  else if (change.kind === 'refresh')
    await ALERTS.put(tx, { ...row, ...seenOf(change.finding), updated_at_ms: nowMs })
  else {
    const seen = change.finding.level === 'bad' ? seenOf(change.finding) : {}
    const moved: AlertRow = { ...row, ...seen, ...columnsOf(change.ruleState), updated_at_ms: nowMs }
    if (row.state === 'pending' && moved.state === 'firing') await fire(turn, moved)
    else await ALERTS.put(tx, moved)
  }
}

async function fire(turn: Turn, row: AlertRow): Promise<void> {
  // It began when the outage did, not when the store could hold it.
  const sinceMs = Math.min(row.started_at_ms, turn.urgent.sinceOf(row) ?? row.started_at_ms)
  const fired: AlertRow = { ...row, fired_at_ms: turn.nowMs, started_at_ms: sinceMs }
  await putTold(turn, fired, turn.silences.has(row.open_key) ? 0 : await tellFiring(turn, fired))
  say(turn, 'firing', fired)
}

async function putTold({ tx, urgent }: Turn, row: AlertRow, isTold: AlertRow['is_told']): Promise<void> {
  const told: AlertRow = { ...row, is_told: isTold }
  await ALERTS.put(tx, told)
  tx.afterCommit(() => urgent.handOver(told))
}

/** Tells receivers that it fires, where none has heard of it yet. */
async function tellFiring(turn: Turn, row: AlertRow): Promise<AlertRow['is_told']> {
  const { tx, urgent, nowMs } = turn
  if (urgent.sinceOf(row) !== undefined) return urgent.claim(row) ? 1 : 2
  return (await tell(turn, tx, 'alert.firing', { ...row, is_told: 1 }, nowMs)) ? 1 : 2
}

async function resolve(turn: Turn, row: AlertRow): Promise<void> {
  const { tx, urgent, nowMs } = turn
  const over: AlertRow = {
    ...row,
    state: 'resolved',
    open_key: row.id,
    resolved_at_ms: nowMs,
    updated_at_ms: nowMs,
  }
  await ALERTS.put(tx, over)
  // Whoever was never told that it fires has nothing to be told of its end.
  if (row.is_told === 1) await tell(turn, tx, 'alert.resolved', over, nowMs)
  tx.afterCommit(() => urgent.letGo(row))
  say(turn, 'resolved', over)
}

function say({ tx, metrics }: Turn, to: 'firing' | 'resolved', row: AlertRow): void {
  const { id, rule, subject, severity } = row
  tx.event({ type: `alert.${to}`, subject: id, data: { rule, subject, severity } })
  tx.afterCommit(() => metrics.moved(to, severity))
}

function newRow(change: Extract<Change, { readonly kind: 'begin' }>, nowMs: number): AlertRow {
  const { rule, subject, ruleState, finding } = change
  return {
    id: newAlertId(),
    open_key: openKey(rule.name, subject),
    rule: rule.name,
    severity: rule.severity,
    subject,
    ...seenOf(finding),
    ...columnsOf(ruleState),
    started_at_ms: ruleState.sinceMs,
    fired_at_ms: null,
    resolved_at_ms: null,
    updated_at_ms: nowMs,
    is_told: 0,
    acked_by: null,
    acked_at_ms: null,
  }
}

function seenOf({ message, value, threshold }: Finding): Pick<AlertRow, 'message' | 'value' | 'threshold'> {
  return { message: message.slice(0, MOST_CHARACTERS), value: value ?? null, threshold: threshold ?? null }
}

function columnsOf(ruleState: RuleState): Pick<AlertRow, 'state' | 'since_ms' | 'clear_since_ms'> {
  return { state: ruleState.state, since_ms: ruleState.sinceMs, clear_since_ms: ruleState.clearSinceMs }
}

/** An alert that is not over. Times are ms since the epoch. */
export interface RuleState {
  readonly state: 'pending' | 'firing'
  /** Since when it is bad without a break. */
  readonly sinceMs: number
  /** Since when it is well, while it fires; null while it is not. */
  readonly clearSinceMs: number | null
}

/** How long a rule waits, ms. */
export interface Waits {
  readonly forMs: number
  readonly clearMs: number
}

/** What becomes of it. `dropped` was pending and never fired; `resolved` has fired and is over. */
export type Next = RuleState | 'dropped' | 'resolved' | undefined

/**
 * One step of the life of an alert: nothing → pending → firing → resolved. The same standing comes back when nothing changes.
 *
 * It fires when it was bad for `forMs` without being good in between, and is over when it was good for `clearMs` without being
 * bad in between. What is neither, or not known, moves nothing.
 */
export function step(
  ruleState: RuleState | undefined,
  level: Level,
  nowMs: number,
  { forMs, clearMs }: Waits,
): Next {
  if (ruleState === undefined) {
    if (level !== 'bad') return undefined
    return { state: forMs === 0 ? 'firing' : 'pending', sinceMs: nowMs, clearSinceMs: null }
  }
  return ruleState.state === 'pending'
    ? stepPending(ruleState, level, nowMs, forMs)
    : stepFiring(ruleState, level, nowMs, clearMs)
}

function stepPending(ruleState: RuleState, level: Level, nowMs: number, forMs: number): Next {
  if (level === 'good') return 'dropped'
  // The clock was put back: how long it lasts is counted anew.
  if (nowMs < ruleState.sinceMs) return { ...ruleState, sinceMs: nowMs }
  if (level === 'bad' && nowMs - ruleState.sinceMs >= forMs) return { ...ruleState, state: 'firing' }
  return ruleState
}

function stepFiring(ruleState: RuleState, level: Level, nowMs: number, clearMs: number): Next {
  const { clearSinceMs } = ruleState
  if (level === 'bad') return clearSinceMs === null ? ruleState : { ...ruleState, clearSinceMs: null }
  if (level !== 'good') return ruleState
  if (clearMs === 0) return 'resolved'
  if (clearSinceMs === null || nowMs < clearSinceMs) return { ...ruleState, clearSinceMs: nowMs }
  return nowMs - clearSinceMs >= clearMs ? 'resolved' : ruleState
}
