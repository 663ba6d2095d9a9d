import { randomUUID } from 'node:crypto'
import {
  type Context,
  lifecycleRef,
  type MutationTx,
  type PolicyBundle,
  type Principal,
  type RadioProfile,
  sectionOf,
  systemPrincipal,
  type TxGate,
  type TxGateState,
  txGateClosed,
  txNotArmed,
} from '@steeple/contracts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { principalText } from '../principal-text.ts'
import { expiryMs } from '../spectrum/layers.ts'
import { type Arm, currentArm, endArm, startArm } from '../store.ts'
import type { DisarmNote } from './disarm-note.ts'
import { disarmReasons, type GateBasis, gateState } from './gate-evaluation.ts'
import type { GateMemory, Remembering, UnstoredDisarm } from './gate-memory.ts'
import {
  notArmedText,
  openProfile,
  refuseClosed,
  refuseSwitch,
  refuseUnsettled,
  refuseWhileStopping,
  unstoredText,
} from './gate-refusals.ts'
import { type JudgedProfile, judgedProfiles } from './judged-profiles.ts'
import type { Transmitters } from './transmitters.ts'

/** In whose name TX is disarmed when it cannot be known whether somebody had. */
const UNREADABLE_NOTE = principalText(systemPrincipal('unreadable-note'))

/** The reconciler of the gate and its one key. */
export const TX_RESOURCE = 'tx_gate'
export const TX_KEY = 'gate'

/** What an armed transmitter looks like to the reconciler. */
export interface ArmReview {
  readonly arm: Arm
  /** Why it must go off; empty when it may stay. */
  readonly reasons: readonly string[]
  /** When the license that it stands on expires, ms since the epoch. */
  readonly expiresAtMs: number | undefined
}

/** The TX gate with its commands. They run inside the caller's mutation. */
export interface TxControl extends TxGate, Remembering {
  /** Throws `tx_gate_closed`, `validation_failed` (unknown profile), `invalid_transition` (another one is armed). */
  arm(tx: MutationTx, principal: Principal, profileId: string): Promise<TxGateState>
  /** Writes the disarmed state, as of `atMs`. The caller has stopped the transmitter. Twice changes nothing. */
  disarm(tx: MutationTx, principal: Principal, atMs: number): Promise<void>
  /** From this turn on nothing is permitted, until the function that it returns is called. */
  beginDisarm(): () => void
  /** The armed transmitter against the gates as they are now; undefined while disarmed. */
  review(): Promise<ArmReview | undefined>
  /** The configured profiles, each judged as an arm of it would be. */
  profiles(): Promise<readonly JudgedProfile[]>
  /**
   * Why an armed transmitter must go off by what was read last from the store; empty when it may stay. For the time in which
   * the store does not answer.
   */
  lastReasons(): readonly string[]
  /** Disarms for reasons that `review` gave, in the name of the service. */
  disarmItself(review: ArmReview): Promise<void>
  /**
   * Nothing may go on air until that disarm, which the store did not take, is stored; `review` gives it as a reason. True
   * when it is on the disk, so that a restart keeps it.
   */
  hold(by: string, atMs: number): Promise<boolean>
  /** Takes over what an earlier run has left in the note. */
  recall(): Promise<void>
  /** Nothing is permitted any more: the service ends. */
  close(): void
  /** Closes the interval of an armed transmitter and opens another one when the license it stands on has changed. */
  changeLicense(tx: MutationTx, before: PolicyBundle, after: PolicyBundle, by: string): Promise<void>
}

/** The TX gate over the policy in the store and the configuration. Every question is answered from both, anew. */
export function txControlOf(
  context: Context,
  policy: CurrentPolicy,
  transmitters: Transmitters,
  { memory, note }: { readonly memory: GateMemory; readonly note: DisarmNote },
): TxControl {
  const { db, clock } = context
  const basisOf = (bundle: PolicyBundle): GateBasis => ({
    country: context.settings.server.country,
    profiles: sectionOf(context.settings, 'ran').profiles ?? {},
    spectrum: bundle.spectrum,
    nowMs: clock.nowMs(),
  })
  const basisNow = async (): Promise<GateBasis> => basisOf(await policy.refresh())
  const armNow = async (): Promise<Arm | undefined> => {
    const arm = await currentArm(db)
    memory.lastArm = arm
    return arm
  }
  const unstoredFor = (arm: Arm): UnstoredDisarm | undefined => {
    const { unstored } = memory
    if (unstored === undefined) return undefined
    const isMeant =
      unstored.intervalId === null ? arm.armedAtMs <= unstored.atMs : unstored.intervalId === arm.intervalId
    return isMeant ? unstored : undefined
  }
  const reasonsOf = (basis: GateBasis, arm: Arm): readonly string[] => {
    const unstored = unstoredFor(arm)
    const reasons = disarmReasons(basis, arm)
    return unstored === undefined ? reasons : [unstoredText(unstored), ...reasons]
  }
  const forget = (): void => {
    if (memory.unstored === undefined) return
    memory.unstored = undefined
    // Should it stay, it names an interval that is over.
    note.write(undefined).catch(() => undefined)
  }
  const end = async (
    tx: MutationTx,
    arm: Arm,
    { atMs, by, reason }: { readonly atMs: number; readonly by: string; readonly reason: string },
  ): Promise<void> => {
    await endArm(tx, arm, { atMs: Math.max(atMs, arm.armedAtMs), by, reason })
    await context.maybe(lifecycleRef)?.txDisarmed(tx)
    tx.dirty(TX_RESOURCE, TX_KEY)
    tx.afterCommit(() => {
      memory.lastArm = undefined
      forget()
    })
  }
  const permit = async (profileId: string): Promise<RadioProfile> => {
    const { stops } = memory
    const basis = await basisNow()
    const arm = await armNow()
    if (arm?.profileId !== profileId) throw txNotArmed(notArmedText(profileId, arm))
    const reasons = reasonsOf(basis, arm)
    if (reasons.length > 0) {
      context.enqueue(TX_RESOURCE, TX_KEY)
      throw txGateClosed(`TX may not go on air: ${reasons.join('; ')}`)
    }
    // Nothing is awaited between this look and the answer: a stop from here on reaches the one that is permitted.
    refuseWhileStopping(memory, stops)
    transmitters.permitted()
    return arm.profile
  }
  return {
    memory,
    state: async () => gateState(await basisNow(), await armNow(), transmitters.state()),
    profiles: async () => judgedProfiles(await basisNow(), (await armNow())?.profileId),
    permit,
    permitCarrier: async (carrier) => {
      refuseClosed(await basisNow(), carrier)
    },
    arm: async (tx, principal, profileId) => {
      refuseUnsettled(memory, transmitters)
      const bundle = await policy.read(tx)
      const basis = basisOf(bundle)
      const profile = openProfile(basis, profileId)
      const armed = await currentArm(tx)
      if (armed !== undefined) {
        refuseSwitch(armed, profileId, profile, basis.country)
        tx.audit({ detail: { arm: true, profile: profileId, changed: false } })
        return gateState(basis, armed, transmitters.state())
      }
      const { license } = bundle.spectrum
      const arm: Arm = {
        intervalId: randomUUID(),
        profileId,
        profile,
        country: basis.country,
        armedAtMs: basis.nowMs,
        armedBy: principalText(principal),
      }
      await startArm(tx, arm, license)
      await context.maybe(lifecycleRef)?.txArmed(tx)
      tx.audit({ detail: { arm: true, ...armFacts(arm), license: license.reference, changed: true } })
      tx.dirty(TX_RESOURCE, TX_KEY)
      tx.afterCommit(() => note.prepare().catch(() => undefined))
      return gateState(basis, arm, transmitters.state())
    },
    beginDisarm: () => {
      memory.disarms += 1
      return () => {
        memory.disarms -= 1
      }
    },
    disarm: async (tx, principal, atMs) => {
      const arm = await currentArm(tx)
      tx.audit({ detail: { arm: false, profile: arm?.profileId ?? null, changed: arm !== undefined } })
      if (arm !== undefined) await end(tx, arm, { atMs, by: principalText(principal), reason: 'disarmed' })
    },
    review: async () => {
      const basis = await basisNow()
      const arm = await armNow()
      if (arm === undefined || unstoredFor(arm) === undefined) forget()
      if (arm === undefined) return undefined
      return { arm, reasons: reasonsOf(basis, arm), expiresAtMs: expiryMs(basis.spectrum.license) }
    },
    lastReasons: () => {
      const { lastArm } = memory
      return lastArm === undefined ? [] : reasonsOf(basisOf(policy.bundle()), lastArm)
    },
    disarmItself: async ({ arm, reasons }) => {
      const system = systemPrincipal(TX_RESOURCE)
      await context.mutate(system, 'tx.auto_disarm', arm.profileId, async (tx) => {
        const still = await currentArm(tx)
        const isSameArm = still?.intervalId === arm.intervalId
        tx.audit({ detail: { ...armFacts(arm), reasons, changed: isSameArm } })
        tx.event({
          type: 'tx.auto_disarmed',
          subject: arm.profileId,
          data: { ...armFacts(arm), reasons },
        })
        if (!isSameArm) return
        const { atMs, by } = unstoredFor(arm) ?? { atMs: clock.nowMs(), by: principalText(system) }
        await end(tx, arm, { atMs, by, reason: reasons.join('; ') })
      })
      context.log.error({ profile: arm.profileId, reasons }, 'TX disarmed because its legal basis is gone')
    },
    hold: async (by, atMs) => {
      const unstored = { intervalId: memory.lastArm?.intervalId ?? null, atMs, by }
      memory.unstored = unstored
      context.enqueue(TX_RESOURCE, TX_KEY)
      try {
        await note.write(unstored)
        return true
      } catch (error) {
        context.log.error({ err: error }, 'a disarm could neither be stored nor noted')
        return false
      }
    },
    recall: async () => {
      memory.unstored ??= await note.read().catch((error: unknown) => {
        context.log.error({ err: error }, 'the note of a disarm cannot be read, so TX is taken for disarmed')
        return { intervalId: null, atMs: clock.nowMs(), by: UNREADABLE_NOTE }
      })
      await note.prepare().catch((error: unknown) => {
        context.log.warn({ err: error }, 'there is no room for the note of a disarm')
      })
    },
    close: () => {
      memory.isClosed = true
    },
    changeLicense: async (tx, before, after, by) => {
      const [old, next] = [before.spectrum.license, after.spectrum.license]
      if (old.reference === next.reference && old.holder === next.holder) return
      const arm = await currentArm(tx)
      // One that is about to end keeps its name: the note of its disarm has it.
      if (arm === undefined || memory.unstored !== undefined) return
      const atMs = clock.nowMs()
      await endArm(tx, arm, { atMs, by, reason: 'another license' })
      await startArm(tx, { ...arm, intervalId: randomUUID(), armedAtMs: atMs, armedBy: by }, next)
    },
  }
}

function armFacts(arm: Arm): Readonly<Record<string, unknown>> {
  const { technology, channel, band, bandwidth_mhz, eirp_dbm } = arm.profile
  return {
    profile: arm.profileId,
    technology,
    channel,
    band: band ?? null,
    bandwidth_mhz,
    eirp_dbm: eirp_dbm ?? null,
    country: arm.country,
  }
}
