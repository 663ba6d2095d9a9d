import { defineTable, type Reader, type Table, type Tx } from '@steeple/contracts'

/** One message for one receiver. Its id and body never change. Times are ms since the epoch. */
export interface DeliveryRow {
  /** The same for all receivers of a message: `webhook-id`. */
  readonly id: string
  readonly target: string
  /** Grows with each message. */
  readonly seq: number
  readonly subject: string
  readonly type: string
  /** The very octets that are sent. */
  readonly body: string
  readonly state: 'waiting' | 'parked'
  readonly created_at_ms: number
  /** From when the time is counted after which it is parked. */
  readonly give_up_from_ms: number
  readonly next_at_ms: number
  readonly failures: number
  readonly last_error: string | null
}

/** Messages that nobody has taken yet. */
export const DELIVERIES: Table<DeliveryRow> = defineTable(
  'alerts_delivery',
  [
    'id',
    'target',
    'seq',
    'subject',
    'type',
    'body',
    'state',
    'created_at_ms',
    'give_up_from_ms',
    'next_at_ms',
    'failures',
    'last_error',
  ],
  ['id', 'target'],
)

/** The number of the next message. */
export async function nextSeq(tx: Tx): Promise<number> {
  const last = await tx.get<{ seq: number | null }>('select max(seq) as seq from alerts_delivery')
  return Number(last?.seq ?? 0) + 1
}

/** The first message of each subject, when it is due. */
const DUE = `where target = :target and state = 'waiting' and next_at_ms <= :now and not exists (
    select 1 from alerts_delivery as earlier where earlier.target = alerts_delivery.target
      and earlier.subject = alerts_delivery.subject and earlier.state = 'waiting' and earlier.seq < alerts_delivery.seq
  ) order by seq limit :limit`

/** At most so many messages that are to be sent now, of each subject the oldest alone. */
export async function dueDeliveries(
  reader: Reader,
  target: string,
  nowMs: number,
  limit: number,
): Promise<readonly DeliveryRow[]> {
  return (await DELIVERIES.sound(reader, DUE, { target, now: nowMs, limit })).rows
}

const NEXT = `select min(next_at_ms) as at from alerts_delivery where target = :target and state = 'waiting'`

/** When the next message of a receiver is due; undefined when none waits. */
export async function nextDueMs(reader: Reader, target: string): Promise<number | undefined> {
  const found = await reader.get<{ at: number | null }>(NEXT, { target })
  return found?.at === null || found === undefined ? undefined : Number(found.at)
}

/** How many messages of a receiver are not delivered. */
export interface Backlog {
  readonly target: string
  readonly waiting: number
  readonly parked: number
  readonly oldestAtMs: number
}

const BACKLOG = `select target, state, count(*) as count, min(created_at_ms) as oldest from alerts_delivery
  group by target, state`

/** What is not delivered, by receiver; also by those that the configuration names no longer. */
export async function backlogs(reader: Reader): Promise<ReadonlyMap<string, Backlog>> {
  const found = new Map<string, Backlog>()
  const rows = await reader.all<{ target: string; state: string; count: number; oldest: number }>(BACKLOG)
  for (const { target, state, count, oldest } of rows) {
    const before = found.get(target) ?? { target, waiting: 0, parked: 0, oldestAtMs: Number(oldest) }
    const counts = state === 'parked' ? { parked: Number(count) } : { waiting: Number(count) }
    found.set(target, { ...before, ...counts, oldestAtMs: Math.min(before.oldestAtMs, Number(oldest)) })
  }
  return found
}

const LAST_ERROR = `select last_error from alerts_delivery where target = :target and last_error is not null
  order by failures desc, seq limit 1`

/** Why the receiver did not take a message. */
export async function lastErrorOf(reader: Reader, target: string): Promise<string | undefined> {
  return (await reader.get<{ last_error: string }>(LAST_ERROR, { target }))?.last_error
}

/** At most so many messages of a receiver that were given up, oldest first. */
export async function parkedOf(
  reader: Reader,
  target: string,
  limit: number,
): Promise<readonly DeliveryRow[]> {
  const rest = "where target = :target and state = 'parked' order by seq limit :limit"
  return (await DELIVERIES.sound(reader, rest, { target, limit })).rows
}

const PRUNE = `delete from alerts_delivery where state = 'parked' and created_at_ms < :before`

/** Forgets messages that were given up and are older than that. */
export async function pruneParked(tx: Tx, before: number): Promise<number> {
  return await tx.run(PRUNE, { before })
}

/** Forgets all messages of a receiver that is none any more; gives how many. */
export async function forgetTarget(tx: Tx, target: string): Promise<number> {
  return await tx.run('delete from alerts_delivery where target = :target', { target })
}
