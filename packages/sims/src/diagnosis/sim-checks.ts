import { timestampOrNull } from '@steeple/contracts'
import type { Sight } from '../attach/sight.ts'
import type { SimsParts } from '../parts.ts'
import { differences } from '../provision/differences.ts'
import { provisioningOf } from '../record.ts'
import { wantedInHss } from '../states/machine.ts'
import type { SimRow } from '../store/sim-row.ts'
import { type Check, doubtful, failed, fine, unknown } from './check.ts'
import type { Facts } from './core-checks.ts'

/** Whether the SIM itself may be on the network. */
export function stateCheck(row: Facts['row'], { attached, lastSeenAtMs }: Sight): Check {
  const { hash, state, suspend_reason: reason } = row
  if (state === 'issued') {
    const isSeen = attached === true || lastSeenAtMs !== null
    return fine(
      'state',
      isSeen ? 'issued, and used for the first time' : 'issued: its phone was never on the network',
    )
  }
  if (state === 'in-use') return fine('state', 'in use')
  if (state === 'suspended') {
    const advice =
      reason === 'quota'
        ? `raise its quota or wait for the next period; svc sim resume ${hash} --override lifts it now`
        : `svc sim resume ${hash} lifts it`
    return failed('state', `suspended by ${reason ?? 'somebody'}`, advice)
  }
  if (state === 'expired')
    return failed(
      'state',
      `expired at ${timestampOrNull(row.expires_at_ms)}`,
      `an expired SIM stays off; issue another in its place: svc sim issue --replaces ${hash}`,
    )
  return failed('state', 'revoked, which is for good', 'issue another SIM')
}

/** Whether the HSS was told of it. */
export function provisioningCheck({ hss }: SimsParts, row: SimRow): Check {
  const { status, driver, last_error: reason } = provisioningOf(row, hss.view())
  const why = typeof reason === 'string' ? `: ${reason}` : ''
  if (status === 'synced') return fine('provisioning', `the HSS (${driver}) was told`)
  if (status === 'failed')
    return failed(
      'provisioning',
      `the HSS (${driver}) refused it${why}`,
      'correct what the reason names; it is tried again within a minute',
    )
  const detail = `the HSS (${driver}) was not told yet${why}`
  const isAway = hss.view().problem !== undefined
  // Its state keeps it off already, and blocking it first and removing it then takes a moment.
  if (wantedInHss(row.state) !== 'open')
    return doubtful('provisioning', detail, isAway ? 'mend the way to the HSS: svc health, svc doctor' : null)
  const advice =
    typeof reason === 'string'
      ? 'mend the way to the HSS: svc health, svc doctor'
      : 'wait a few seconds and ask again'
  return failed('provisioning', detail, advice)
}

/** What the HSS should hold of it. */
const HELD = {
  open: 'the HSS holds it as it should',
  blocked: 'the HSS holds it blocked, as it should',
  absent: 'the HSS does not hold it, as it should be',
} as const

/** Whether the HSS holds it as it should, looked at now. */
export async function subscriberCheck(parts: SimsParts, row: SimRow, signal: AbortSignal): Promise<Check> {
  const driver = parts.hss.driver()
  const name = 'subscriber'
  if (driver === undefined || driver.name === 'none')
    return unknown(
      name,
      'there is no HSS that the service fills',
      'look into the one of the core by hand, or have it filled: hss.driver',
    )
  if (parts.hss.view().problem !== undefined)
    return unknown(
      name,
      `the HSS was not asked: ${parts.hss.view().problem}`,
      'mend the way to the HSS: svc health',
    )
  const found = await differences(parts, driver, [row], signal).catch(() => undefined)
  if (found === undefined)
    return unknown(
      name,
      `the HSS does not answer: ${parts.hss.view().problem ?? 'no reason'}`,
      'svc health says more',
    )
  const [difference] = found
  if (difference === undefined) return fine(name, HELD[wantedInHss(row.state)])
  if (row.hss_status !== 'synced') return doubtful(name, 'the HSS does not hold it as it should yet', null)
  return failed(
    name,
    difference.reason,
    'somebody changed it in the database; it is put right within sims.drift_interval, or at once by suspend and resume',
  )
}
