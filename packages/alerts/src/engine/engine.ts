import { randomBytes } from 'node:crypto'
import type { ObservedTx } from '@steeple/contracts'
import type { AlertParts } from '../parts.ts'
import type { Finding, Look } from '../rules/rule.ts'
import { ALERTS, type AlertRow, openAlerts } from '../store/alert-store.ts'
import { type SilenceRow, silencesAt } from '../store/silence-store.ts'
import { tell } from '../webhooks/message.ts'
import { type Absences, absences, type Change, keyOf, LIMITS, type Limits, planOf } from './plan.ts'
import type { RuleState } from './step.ts'

/** Looks at everything and keeps the alerts as it is. */
export interface Engine {
  /** One look. What cannot be looked at is logged, and stays as it was. */
  look(): Promise<void>
}

/** Longest message of an alert, characters. */
const MOST_CHARACTERS = 500

/** An engine over the watches of the parts. All that it must not forget is in the store. */
export function alertEngine(parts: AlertParts, limits: Limits = LIMITS): Engine {
  const { context } = parts
  const rules = new Set(parts.watches.flatMap((watch) => watch.rules.map(({ name }) => name)))
  const gone: Absences = absences()
  return {
    look: async () => {
      const looks = await looksOf(parts)
      const nowMs = Math.floor(context.clock.nowMs())
      const open = await openAlerts(context.db)
      const silences = await silencesAt(context.db, nowMs)
      const monotonicMs = context.clock.monotonicMs()
      const absent = (key: string) => gone.levelOf(key, monotonicMs)
      const changes = planOf({ rules, looks, open, nowMs, limits, absent })
      gone.sweep()
      const untold = open.filter((row) => isToBeTold(row, silences, changes))
      parts.metrics.open(open)
      if (changes.length + untold.length === 0) return
      await context.observe(async (tx) => {
        for (const change of changes) await apply(parts, tx, change, nowMs, silences)
        for (const row of untold) await tellLate(parts, tx, row, nowMs)
      })
      parts.metrics.open(await openAlerts(context.db))
    },
  }
}

async function looksOf({ context, watches }: AlertParts): Promise<readonly Look[]> {
  const looks = await Promise.all(
    watches.map(async (watch) => {
      try {
        return await watch.looks()
      } catch (error) {
        const names = watch.rules.map(({ name }) => name)
        context.log.warn({ rules: names, err: error }, 'rules could not be looked at')
        return []
      }
    }),
  )
  return looks.flat()
}

/** It fires and was silenced then, and is not any more. */
function isToBeTold(
  row: AlertRow,
  silences: ReadonlyMap<string, SilenceRow>,
  changes: readonly Change[],
): boolean {
  const isUntold = row.state === 'firing' && row.is_told === 0 && !silences.has(row.open_key)
  return isUntold && !changes.some((change) => 'row' in change && change.row.id === row.id)
}

async function apply(
  parts: AlertParts,
  tx: ObservedTx,
  change: Change,
  nowMs: number,
  silences: ReadonlyMap<string, SilenceRow>,
): Promise<void> {
  if (change.kind === 'begin') {
    const row = newRow(change, nowMs)
    await ALERTS.insert(tx, row)
    if (row.state === 'firing') await fire(parts, tx, row, nowMs, silences)
    return
  }
  // Somebody may have acknowledged it meanwhile.
  const row = await ALERTS.find(tx, { id: change.row.id })
  if (row === undefined || row.state === 'resolved') return
  if (change.kind === 'drop') await ALERTS.remove(tx, { id: row.id })
  else if (change.kind === 'resolve') await resolve(parts, tx, row, nowMs)
  else if (change.kind === 'refresh')
    await ALERTS.put(tx, { ...row, ...seenOf(change.finding), updated_at_ms: nowMs })
  else await move(parts, tx, row, change, nowMs, silences)
}

async function move(
  parts: AlertParts,
  tx: ObservedTx,
  row: AlertRow,
  { ruleState, finding }: { readonly ruleState: RuleState; readonly finding: Finding },
  nowMs: number,
  silences: ReadonlyMap<string, SilenceRow>,
): Promise<void> {
  const seen = finding.level === 'bad' ? seenOf(finding) : {}
  const moved: AlertRow = { ...row, ...seen, ...columnsOf(ruleState), updated_at_ms: nowMs }
  if (row.state === 'pending' && moved.state === 'firing') await fire(parts, tx, moved, nowMs, silences)
  else await ALERTS.put(tx, moved)
}

async function fire(
  parts: AlertParts,
  tx: ObservedTx,
  row: AlertRow,
  nowMs: number,
  silences: ReadonlyMap<string, SilenceRow>,
): Promise<void> {
  const isSilenced = silences.has(row.open_key)
  const fired: AlertRow = { ...row, fired_at_ms: nowMs, is_told: isSilenced ? 0 : 1 }
  await ALERTS.put(tx, fired)
  if (!isSilenced) await tell(parts, tx, 'alert.firing', fired, nowMs)
  say(parts, tx, 'firing', fired)
}

async function tellLate(parts: AlertParts, tx: ObservedTx, { id }: AlertRow, nowMs: number): Promise<void> {
  const row = await ALERTS.find(tx, { id })
  if (row === undefined || row.state !== 'firing' || row.is_told === 1) return
  await ALERTS.put(tx, { ...row, is_told: 1 })
  await tell(parts, tx, 'alert.firing', row, nowMs)
}

async function resolve(parts: AlertParts, tx: ObservedTx, row: AlertRow, nowMs: number): Promise<void> {
  const over: AlertRow = {
    ...row,
    state: 'resolved',
    open_key: row.id,
    resolved_at_ms: nowMs,
    updated_at_ms: nowMs,
  }
  await ALERTS.put(tx, over)
  // Whoever was never told that it fires has nothing to be told of its end.
  if (row.is_told === 1) await tell(parts, tx, 'alert.resolved', over, nowMs)
  say(parts, tx, 'resolved', over)
}

function say(parts: AlertParts, tx: ObservedTx, to: 'firing' | 'resolved', row: AlertRow): void {
  const { id, rule, subject, severity } = row
  tx.event({ type: `alert.${to}`, subject: id, data: { rule, subject, severity } })
  tx.afterCommit(() => parts.metrics.moved(to, severity))
}

function newRow(change: Extract<Change, { readonly kind: 'begin' }>, nowMs: number): AlertRow {
  const { rule, subject, ruleState, finding } = change
  return {
    id: `a-${randomBytes(8).toString('hex')}`,
    open_key: keyOf(change),
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
