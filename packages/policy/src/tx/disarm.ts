import { isServiceError, type Principal, southboundUnavailable, storeUnavailable } from '@steeple/contracts'
import { principalText } from '../principal-text.ts'
import type { Transmitters } from './transmitters.ts'
import type { TxControl } from './tx-control.ts'

/** What a disarm works with. */
export interface DisarmParts {
  readonly control: Pick<TxControl, 'beginDisarm' | 'hold'>
  readonly transmitters: Pick<Transmitters, 'stop'>
  readonly nowMs: () => number
}

/**
 * Takes the transmitter off the air and has the disarm recorded beside it: whatever the store does, the stop has begun in
 * the turn of the call.
 *
 * `record` stores the disarm as of the time that it is given. Throws `southbound_unavailable` when the stop is not
 * confirmed, and `store_unavailable` when the store did not take the record: then the transmitter is off, and held off.
 * What `record` refuses (a status below 500) is thrown as it is; TX is armed as before.
 */
export async function disarmNow(
  { control, transmitters, nowMs }: DisarmParts,
  principal: Principal,
  record: (atMs: number) => Promise<unknown>,
): Promise<void> {
  const atMs = nowMs()
  const over = control.beginDisarm()
  const [stopped, stored] = await Promise.allSettled([transmitters.stop(), record(atMs)])
  const isUnstored = stored.status === 'rejected' && !isRefusal(stored.reason)
  // Held before the disarm is over: in between nothing is permitted.
  const noted = isUnstored ? control.hold(principalText(principal), atMs) : undefined
  over()
  const isNoted = await noted
  if (stored.status === 'rejected' && !isUnstored) throw stored.reason
  const unstored = stored.status === 'rejected' ? unstoredText(stored.reason, isNoted === true) : undefined
  if (stopped.status === 'rejected') throw unconfirmed(stopped.reason, unstored)
  if (unstored !== undefined && stored.status === 'rejected')
    throw storeUnavailable(`the transmitter is off, but ${unstored}`, { cause: stored.reason })
}

function isRefusal(error: unknown): boolean {
  return isServiceError(error) && error.status < 500
}

function unconfirmed(reason: unknown, unstored: string | undefined): Error {
  const record = unstored ?? 'TX is disarmed'
  return southboundUnavailable(`${textOf(reason)}. The record: ${record}`, { cause: reason })
}

function unstoredText(reason: unknown, isNoted: boolean): string {
  const restart = isNoted
    ? 'a restart before that does not put it on air either'
    : 'there was no room to note it on the disk, so do not restart the service before that: it would put TX on air again'
  return `the disarm is not in the store: ${textOf(reason)}. Nothing goes on air until it is stored, by itself; ${restart}`
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
