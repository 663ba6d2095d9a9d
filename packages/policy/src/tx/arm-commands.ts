import { randomUUID } from 'node:crypto'
import {
  type Context,
  lifecycleRef,
  type MutationTx,
  type PolicyBundle,
  ranDriverRef,
  systemPrincipal,
} from '@steeple/contracts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { principalText } from '../principal-text.ts'
import { type Arm, currentArm, endArm, startArm } from '../store.ts'
import type { DisarmNote } from './disarm-note.ts'
import { type GateBasis, gateState } from './gate-evaluation.ts'
import type { GateMemory } from './gate-memory.ts'
import { openProfile, refuseSwitch, refuseUnfit, refuseUnsettled } from './gate-refusals.ts'
import type { Transmitters } from './transmitters.ts'
import type { TxControl } from './tx-control.ts'
import { TX_KEY, TX_RESOURCE } from './tx-resource.ts'
import type { UnstoredDisarms } from './unstored-disarms.ts'

/** What an interval on air ends with. */
interface ArmEnd {
  readonly atMs: number
  readonly by: string
  readonly reason: string
}

/** What arms and disarms. */
export type ArmCommands = Pick<TxControl, 'arm' | 'disarm' | 'disarmItself' | 'changeLicense'>

/** What the commands stand on. */
export interface ArmParts {
  readonly policy: CurrentPolicy
  readonly transmitters: Transmitters
  readonly memory: GateMemory
  readonly note: DisarmNote
  readonly unstored: UnstoredDisarms
  /** What the gate is judged by, under that policy. */
  readonly basisOf: (bundle: PolicyBundle) => GateBasis
}

/** Makes the commands. */
export function armCommands(context: Context, parts: ArmParts): ArmCommands {
  const { policy, transmitters, memory, note, unstored, basisOf } = parts
  const end = async (tx: MutationTx, arm: Arm, { atMs, by, reason }: ArmEnd): Promise<void> => {
    await endArm(tx, arm, { atMs: Math.max(atMs, arm.armedAtMs), by, reason })
    await context.maybe(lifecycleRef)?.txDisarmed(tx)
    tx.dirty(TX_RESOURCE, TX_KEY)
    tx.afterCommit(() => {
      memory.lastArm = undefined
    })
  }
  return {
    arm: async (tx, principal, profileId) => {
      await unstored.look()
      const bundle = await policy.read(tx)
      const armed = await currentArm(tx)
      // What was disarmed is over: a note that came beside the service, or stayed, means no arm of now.
      if (armed === undefined && memory.disarms === 0) await unstored.forget()
      const basis = basisOf(bundle)
      // Nothing is awaited between this look and the arm that it makes: a disarm that comes later means that one too.
      refuseUnsettled(memory, transmitters)
      const profile = openProfile(basis, profileId)
      refuseUnfit(context.maybe(ranDriverRef)?.problems?.(profile) ?? [], profileId)
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
      tx.afterCommit(() => {
        memory.lastArm = arm
        note.prepare().catch(() => undefined)
      })
      return gateState(basis, arm, transmitters.state())
    },
    disarm: async (tx, principal, atMs) => {
      const arm = await currentArm(tx)
      tx.audit({ detail: { arm: false, profile: arm?.profileId ?? null, changed: arm !== undefined } })
      if (arm !== undefined) await end(tx, arm, { atMs, by: principalText(principal), reason: 'disarmed' })
      tx.afterCommit(() => void unstored.forget())
    },
    disarmItself: async ({ arm, reasons }) => {
      const system = systemPrincipal(TX_RESOURCE)
      await context.mutate(system, 'tx.auto_disarm', arm.profileId, async (tx) => {
        const still = await currentArm(tx)
        const isSameArm = still?.intervalId === arm.intervalId
        tx.audit({ detail: { ...armFacts(arm), reasons, changed: isSameArm } })
        tx.afterCommit(() => void unstored.forget())
        if (!isSameArm) return
        tx.event({
          type: 'tx.auto_disarmed',
          subject: arm.profileId,
          data: { ...armFacts(arm), reasons },
        })
        const { atMs, by } = unstored.of(arm) ?? { atMs: context.clock.nowMs(), by: principalText(system) }
        await end(tx, arm, { atMs, by, reason: reasons.join('; ') })
      })
      context.log.error({ profile: arm.profileId, reasons }, 'TX disarmed because its legal basis is gone')
    },
    changeLicense: licenseChange(context, memory),
  }
}

/** See `TxControl.changeLicense`. */
function licenseChange(context: Context, memory: GateMemory): ArmCommands['changeLicense'] {
  return async (tx, before, after, by) => {
    const [old, next] = [before.spectrum.license, after.spectrum.license]
    if (old.reference === next.reference && old.holder === next.holder) return
    const arm = await currentArm(tx)
    // One that is about to end keeps its name: the note of its disarm has it.
    if (arm === undefined || memory.unstored !== undefined) return
    const atMs = context.clock.nowMs()
    await endArm(tx, arm, { atMs, by, reason: 'another license' })
    const changed: Arm = { ...arm, intervalId: randomUUID(), armedAtMs: atMs, armedBy: by }
    await startArm(tx, changed, next)
    tx.afterCommit(() => {
      memory.lastArm = changed
    })
  }
}

/** What is said of an arm in the audit trail and in events. */
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
