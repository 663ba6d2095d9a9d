import {
  type Clock,
  type ComponentHealth,
  isServiceError,
  type Outcome,
  type Reconciler,
  type SpectrumLicense,
  storeCorrupt,
  timestampFromMs,
} from '@steeple/contracts'
import { expiryMs } from './spectrum/layers.ts'
import { TX_KEY, TX_RESOURCE } from './tx/gate-memory.ts'
import type { Transmitters } from './tx/transmitters.ts'
import type { ArmReview, TxControl } from './tx/tx-control.ts'

/** The health of the TX gate: not ok while the armed state and the transmitter, or the gates, disagree. */
export async function gateHealth(
  control: Pick<TxControl, 'review'>,
  transmitters: Pick<Transmitters, 'state'>,
): Promise<ComponentHealth> {
  const { status, detail } = await verdict(control, transmitters).catch(unreadable)
  return { name: 'tx-gate', kind: 'feature', status, detail, required: true }
}

/** A licence that ends so soon has to be renewed. */
const ENDING_MS = 14 * 86_400_000

/** Whether the licence that the box may transmit by lasts; one that nobody has acknowledged is told of by the gate. */
export function licenseHealth(license: SpectrumLicense, nowMs: number): ComponentHealth {
  const common = { name: 'license', kind: 'feature', required: false } as const
  const endMs = license.acknowledged ? expiryMs(license) : undefined
  if (endMs === undefined) return { ...common, status: 'ok', detail: 'no end of a licence is near' }
  const detail = `the licence ${nowMs < endMs ? 'ends' : 'ended'} at ${timestampFromMs(endMs)}`
  return { ...common, status: endMs - nowMs < ENDING_MS ? 'degraded' : 'ok', detail }
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

/** Disarmed there is nothing to hold: what could arm is told at once. */
const RESYNC_MS = 60_000
/** While armed a full look is never more than 5 s away; an expiry before that is waited for exactly. */
const ARMED_MS = 4_000
/** A growing back-off is no measure for a radio on air. */
const BACKOFF = { firstMs: 1_000, longestMs: 1_000 }

interface GateParts {
  readonly control: Pick<TxControl, 'review' | 'lastReasons' | 'holdItself' | 'disarmItself'>
  readonly transmitters: Transmitters
  readonly clock: Clock
  /** Told after each pass. */
  armed(isArmed: boolean): void
  /** Told after each disarm that nobody asked for. */
  selfDisarmed(): void
}

/**
 * Keeps the transmitter from being armed without its legal basis, and off while it is not armed.
 *
 * - Armed and a gate is red, or the profile or the country has changed: notes the disarm, stops the transmitter and stores the
 *   disarm beside it, so that a gate that turns green again, or a crash, does not undo it. It stops whatever the store does with that, when the policy cannot be read because it is corrupt, and when what was
 *   read last does not permit it any more while the store does not answer.
 * - Disarmed and the transmitter has not confirmed that it is off: tells it again.
 * - Armed, and one that was withdrawn or told to stop has not confirmed that it is off: tells that one again.
 * - Armed and the license expires soon: looks again at that very moment.
 */
export function txReconciler(parts: GateParts): Reconciler {
  return {
    resource: TX_RESOURCE,
    // Every instance keeps its own transmitter off.
    runs: 'each',
    resyncMs: RESYNC_MS,
    timeoutMs: 30_000,
    backoff: BACKOFF,
    keys: async () => [TX_KEY],
    reconcile: () => step(parts),
  }
}

async function step(parts: GateParts): Promise<Outcome> {
  const { control, transmitters } = parts
  const review = await reviewOrStop(parts)
  if (review !== undefined && review.reasons.length === 0) {
    parts.armed(true)
    await transmitters.settle()
    return whileArmed(review, parts.clock)
  }
  if (review !== undefined) {
    control.holdItself()
    const [stopped, stored] = await Promise.allSettled([transmitters.stop(), control.disarmItself(review)])
    if (stored.status === 'fulfilled') parts.selfDisarmed()
    for (const each of [stopped, stored]) if (each.status === 'rejected') throw each.reason
  } else if (transmitters.state() !== 'off') await transmitters.stop()
  parts.armed(false)
  return { state: 'converged' }
}

async function reviewOrStop({ control, transmitters }: GateParts): Promise<ArmReview | undefined> {
  try {
    return await control.review()
  } catch (error) {
    const isCorrupt = isServiceError(error) && error.code === storeCorrupt.code
    const isClosed = control.lastReasons().length > 0
    if (isClosed) control.holdItself()
    if (isCorrupt || isClosed) await transmitters.stop()
    throw error
  }
}

function whileArmed({ expiresAtMs = Number.POSITIVE_INFINITY }: ArmReview, clock: Clock): Outcome {
  const leftMs = expiresAtMs - clock.nowMs()
  return { state: 'pending', afterMs: Math.max(1, Math.min(ARMED_MS, leftMs)), reason: 'TX is armed' }
}
