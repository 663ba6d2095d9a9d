import type { ComponentHealth } from '@steeple/contracts'
import type { Transmitters } from './transmitters.ts'
import type { TxControl } from './tx-control.ts'

/** The health of the TX gate: not ok while the armed state and the transmitter, or the gates, disagree. */
export async function gateHealth(
  control: Pick<TxControl, 'review'>,
  transmitters: Pick<Transmitters, 'state'>,
): Promise<ComponentHealth> {
  const { status, detail } = await verdict(control, transmitters).catch(unreadable)
  return { name: 'tx-gate', kind: 'feature', status, detail, required: true }
}

type Verdict = Pick<ComponentHealth, 'status' | 'detail'>

function unreadable(error: unknown): Verdict {
  const why = error instanceof Error ? error.message : String(error)
  return { status: 'down', detail: `the gate cannot be judged, so nothing may go on air: ${why}` }
}

async function verdict(
  control: Pick<TxControl, 'review'>,
  transmitters: Pick<Transmitters, 'state'>,
): Promise<Verdict> {
  const review = await control.review()
  const transmitter = transmitters.state()
  if (review === undefined && transmitter === 'off') {
    return { status: 'ok', detail: 'disarmed, transmitter off' }
  }
  if (review === undefined || transmitter === 'unconfirmed') {
    const state = review === undefined ? 'disarmed' : `armed with profile ${review.arm.profileId}`
    return {
      status: 'down',
      detail:
        `${state}, but a transmitter has not confirmed that it is off: it may be on air. It is told again every second; ` +
        'cut its power if it must be off now',
    }
  }
  const { arm, reasons } = review
  return reasons.length === 0
    ? { status: 'ok', detail: `armed with profile ${arm.profileId}` }
    : {
        status: 'degraded',
        detail: `armed with profile ${arm.profileId}, about to disarm: ${reasons.join('; ')}`,
      }
}
