import { type Principal, southboundUnavailable, storeUnavailable } from '@steeple/contracts'
import { principalText } from '../principal-text.ts'
import type { Transmitters } from './transmitters.ts'
import type { TxControl } from './tx-control.ts'

/** What a disarm works with. */
export interface DisarmParts {
  readonly control: Pick<TxControl, 'beginDisarm' | 'hold'>
  readonly transmitters: Pick<Transmitters, 'stop'>
  readonly nowMs: () => number
}

/** How long a disarm waits for the store before it answers that the record is not in. */
const RECORD_BOUND_MS = 1_000

/**
 * Takes the transmitter off the air. In the turn of the call and waiting for nothing the stop begins, the note is written that
 * keeps the disarm over a crash, and the record is handed to the store.
 *
 * `record` stores the disarm as of the time that it is given. Throws `southbound_unavailable` when the stop is not
 * confirmed, and `store_unavailable` when the store does not have the record within a second: then the transmitter is off,
 * and held off until the store has it.
 */
export async function disarmNow(
  { control, transmitters, nowMs }: DisarmParts,
  principal: Principal,
  record: (atMs: number) => Promise<unknown>,
): Promise<void> {
  const atMs = nowMs()
  const noted = control.hold(principalText(principal), atMs)
  const stopping = transmitters.stop()
  const [stopped, stored] = await Promise.allSettled([stopping, recordInTime(control, record(atMs))])
  const unstored = stored.status === 'rejected' ? unstoredText(stored.reason, await noted) : undefined
  if (stopped.status === 'rejected') throw unconfirmed(stopped.reason, unstored)
  if (unstored !== undefined && stored.status === 'rejected')
    throw storeUnavailable(`the transmitter is off, but ${unstored}`, { cause: stored.reason })
}

/** Rejects when the record is not in within the bound. It goes on being stored, and nothing is permitted until that is over. */
async function recordInTime(control: DisarmParts['control'], record: Promise<unknown>): Promise<void> {
  const over = control.beginDisarm()
  const stored = record.finally(over)
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(new Error(`the store has not taken it within ${RECORD_BOUND_MS} ms`)),
    RECORD_BOUND_MS,
  )
  try {
    await Promise.race([stored, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function unconfirmed(reason: unknown, unstored: string | undefined): Error {
  const record = unstored ?? 'TX is disarmed'
  return southboundUnavailable(`${textOf(reason)}. The record: ${record}`, { cause: reason })
}

function unstoredText(reason: unknown, isNoted: boolean): string {
  const restart = isNoted
    ? 'a restart before that does not put it on air either'
    : 'it could not be noted on the disk within a second, so do not restart the service before that: it would put TX on air again'
  return `the disarm is not in the store: ${textOf(reason)}. Nothing goes on air until it is stored, by itself; ${restart}`
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
