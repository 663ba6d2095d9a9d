import type { Clock } from '@steeple/contracts'
import { isSynchronised } from '@steeple/kernel'
import { type Check, doubtful, broken as failed, healthy } from './check.ts'

/** A clock before this has not been set. */
const EARLIEST_MS = Date.UTC(2025, 0, 1)
/** Certificates of the mesh live ten years: a clock after this is as wrong as one that was never set. */
const LATEST_MS = Date.UTC(2100, 0, 1)

/** Whether the clock can be true, and whether something keeps it so. */
export async function checkClock(clock: Clock): Promise<Check> {
  const nowMs = clock.nowMs()
  const now = new Date(nowMs).toISOString()
  if (nowMs < EARLIEST_MS || nowMs > LATEST_MS)
    return failed('clock', `it says ${now}`, 'set it; tokens, certificates and the audit trail depend on it')
  const synchronised = await isSynchronised()
  if (synchronised === undefined) return healthy('clock', `${now}; whether NTP keeps it cannot be seen here`)
  if (synchronised) return healthy('clock', `${now}, kept by NTP`)
  return doubtful('clock', `${now}, not kept by NTP`, 'switch it on: timedatectl set-ntp true')
}
