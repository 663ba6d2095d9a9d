import { randomBytes } from 'node:crypto'
import { defineTable, type Page, type Reader, type SqlParams, type Table, type Tx } from '@steeple/contracts'
import type { Severity } from '../rules/rule.ts'

type AlertState = 'pending' | 'firing' | 'resolved'

/** An alert as it is stored. Times are ms since the epoch. */
export interface AlertRow {
  readonly id: string
  /** Rule and subject while it is not over, its id afterwards: of each there is one alert at a time. */
  readonly open_key: string
  readonly rule: string
  readonly severity: Severity
  readonly subject: string
  readonly state: AlertState
  readonly message: string
  readonly value: number | null
  readonly threshold: number | null
  /** When it began to be bad. */
  readonly started_at_ms: number
  /** Since when it is bad without a break, as `for` counts. */
  readonly since_ms: number
  readonly fired_at_ms: number | null
  /** Since when it is well while it fires. */
  readonly clear_since_ms: number | null
  readonly resolved_at_ms: number | null
  readonly updated_at_ms: number
  /** Whether receivers were told that it fires: 0 not yet, as while it is silenced; 2 there was none that wanted it, or they know by another alert. */
  readonly is_told: 0 | 1 | 2
  readonly acked_by: string | null
  readonly acked_at_ms: number | null
}

/** All alerts: open ones and the history. */
export const ALERTS: Table<AlertRow> = defineTable(
  'alerts_alert',
  [
    'id',
    'open_key',
    'rule',
    'severity',
    'subject',
    'state',
    'message',
    'value',
    'threshold',
    'started_at_ms',
    'since_ms',
    'fired_at_ms',
    'clear_since_ms',
    'resolved_at_ms',
    'updated_at_ms',
    'is_told',
    'acked_by',
    'acked_at_ms',
  ],
  ['id'],
)

/** Longest message of an alert, characters. */
export const MOST_CHARACTERS = 500

export function newAlertId(): string {
  return `a-${randomBytes(8).toString('hex')}`
}

/** The key by which an alert is the only open one of its rule and subject. */
export function openKey(rule: string, subject: string): string {
  return `${rule}/${subject}`
}

/** More than can be open or silenced at a time. */
const MOST_OPEN = 5_000

/** The alerts that are not over; a row that is damaged is left out, the store's own check reports it. */
export async function openAlerts(reader: Reader): Promise<readonly AlertRow[]> {
  const rest = `where state in ('pending', 'firing') order by started_at_ms, id limit ${MOST_OPEN}`
  return (await ALERTS.sound(reader, rest)).rows
}

/** By what a list is filtered. */
export interface AlertFilter {
  readonly state?: AlertState | 'open'
  readonly severity?: Severity
  readonly rule?: string
}

/** At most `limit` alerts behind a position, newest first. Throws `store_corrupt`. */
export async function alertsAfter(
  reader: Reader,
  filter: AlertFilter,
  limit: number,
  after: Page['after'],
): Promise<readonly AlertRow[]> {
  const { state, severity, rule } = filter
  const is = { state: state === 'open' ? undefined : state, severity, rule }
  const wanted = Object.entries(is).filter(([, value]) => value !== undefined)
  const params: Record<string, string | number> = { limit, ...Object.fromEntries(wanted) }
  const where = wanted.map(([column]) => `${column} = :${column}`)
  if (state === 'open') where.push("state in ('pending', 'firing')")
  const [started, id] = after ?? []
  if (started !== undefined && id !== undefined) {
    where.push('(started_at_ms < :started or (started_at_ms = :started and id < :id))')
    Object.assign(params, { started, id } satisfies SqlParams)
  }
  const condition = where.length === 0 ? '' : `where ${where.join(' and ')} `
  return await ALERTS.select(reader, `${condition}order by started_at_ms desc, id desc limit :limit`, params)
}

const PRUNE = `delete from alerts_alert where id in
  (select id from alerts_alert where resolved_at_ms < :before order by resolved_at_ms limit :most)`

/** Removes alerts that were over before then, at most so many; gives how many. */
export async function pruneAlerts(tx: Tx, before: number, most: number): Promise<number> {
  return await tx.run(PRUNE, { before, most })
}

/** Until when nobody is told of a rule and a subject, also when it fires anew. */
export interface SilenceRow {
  /** As `openKey` gives it. */
  readonly open_key: string
  readonly until_ms: number
  readonly silenced_by: string
}

/** The silences that were asked for. */
export const SILENCES: Table<SilenceRow> = defineTable(
  'alerts_silence',
  ['open_key', 'until_ms', 'silenced_by'],
  ['open_key'],
)

/** The silences that last then, by rule and subject. */
export async function silencesAt(reader: Reader, nowMs: number): Promise<ReadonlyMap<string, SilenceRow>> {
  const { rows } = await SILENCES.sound(reader, `where until_ms > :now limit ${MOST_OPEN}`, { now: nowMs })
  return new Map(rows.map((row) => [row.open_key, row]))
}

/** Forgets silences that ended before then. */
export async function pruneSilences(tx: Tx, before: number): Promise<number> {
  return await tx.run('delete from alerts_silence where until_ms < :before', { before })
}

/** Something that happened and that lasts until something else happens. */
export interface FactRow {
  readonly name: string
  readonly at_ms: number
  readonly subject: string
}

export const FACTS: Table<FactRow> = defineTable('alerts_fact', ['name', 'at_ms', 'subject'], ['name'])
