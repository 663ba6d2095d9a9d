import type { ComponentHealth } from '@steeple/contracts'
import type { Transmitters } from './transmitters.ts'
import type { TxControl } from './tx-control.ts'

/** The health of the TX gate: not ok while the armed state and the transmitter, or the gates, disagree. */
export async function gateHealth(
  control: Pick<TxControl, 'review'>,
  transmitters: Pick<Transmitters, 'isOff'>,
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
  transmitters: Pick<Transmitters, 'isOff'>,
): Promise<Verdict> {
  const review = await control.review()
  if (review === undefined) {
    return transmitters.isOff()
      ? { status: 'ok', detail: 'disarmed, transmitter off' }
      : {
          status: 'down',
          detail: 'disarmed, but the transmitter has not confirmed that it is off: it may be on air',
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
