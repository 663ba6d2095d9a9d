import { randomUUID } from 'node:crypto'
import {
  type Context,
  lifecycleRef,
  type MutationTx,
  type PolicyBundle,
  type Principal,
  type RadioFallback,
  type RadioProfile,
  ranDriverRef,
  sectionOf,
  systemPrincipal,
  type TxGate,
  type TxGateState,
  txGateClosed,
  txNotArmed,
} from '@steeple/contracts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { expiryMs } from '../spectrum/layers.ts'
import {
  type Arm,
  currentArm,
  endArm,
  type NamedProfiles,
  principalText,
  startArm,
  storedProfiles,
} from '../store.ts'
import type { DisarmNote } from './disarm-note.ts'
import { disarmReasons, type GateBasis, gateState, judgedProfile } from './gate-evaluation.ts'
import type { GateMemory, Remembering, UnstoredDisarm } from './gate-memory.ts'
import { TX_KEY, TX_RESOURCE } from './gate-memory.ts'
import {
  notArmedText,
  openProfile,
  refuseClosed,
  refuseSwitch,
  refuseUnfit,
  refuseUnsettled,
  refuseWhileStopping,
  unstoredText,
} from './gate-refusals.ts'
import type { Transmitters } from './transmitters.ts'

/** In whose name TX is disarmed when it cannot be known whether somebody had. */
const UNREADABLE_NOTE = principalText(systemPrincipal('unreadable-note'))

/** Over the memory of the gate and its note. */
function unstoredDisarms(context: Context, memory: GateMemory, note: DisarmNote) {
  const { clock } = context
  const hold = async (by: string, atMs: number): Promise<boolean> => {
    const unstored = { intervalId: memory.lastArm?.intervalId ?? null, atMs, by }
    memory.unstored = unstored
    try {
      await note.write(unstored)
      return true
    } catch (error) {
      context.log.error({ err: error }, 'a disarm could not be noted')
      return false
    }
  }
  const damaged = (error: unknown): UnstoredDisarm => {
    context.log.error({ err: error }, 'the note of a disarm cannot be read, so TX is taken for disarmed')
    return { intervalId: null, atMs: clock.nowMs(), by: UNREADABLE_NOTE }
  }
  const take = (noted: Awaited<ReturnType<DisarmNote['read']>>): void => {
    if (noted !== undefined) memory.unstored ??= { ...noted, atMs: noted.atMs ?? clock.nowMs() }
  }
  return {
    hold,
    /** The one that is meant for that arm. */
    of: (arm: Arm): UnstoredDisarm | undefined => {
      const { unstored } = memory
      if (unstored === undefined) return undefined
      const { intervalId, atMs } = unstored
      // One that names no interval means any: the clock may have been set back since the arm. What names one means also an arm
      // that was being committed, whose interval it could not know.
      const isMeant = intervalId === null || intervalId === arm.intervalId || arm.armedAtMs <= atMs
      return isMeant ? unstored : undefined
    },
    /** It is stored, or what it names is over. */
    forget: async (): Promise<void> => {
      if (memory.unstored === undefined) return
      memory.unstored = undefined
      // Should it stay, it names an interval that is over.
      await note.write(undefined).catch(() => undefined)
    },
    /** See `TxControl.holdItself`. */
    holdItself: (): void => {
      if (memory.unstored === undefined) void hold(principalText(systemPrincipal(TX_RESOURCE)), clock.nowMs())
    },
    /** See `TxControl.recall`. */
    recall: async (): Promise<void> => {
      take(await note.read().catch(damaged))
      await note.prepare().catch((error: unknown) => {
        context.log.warn({ err: error }, 'there is no room for the note of a disarm')
      })
    },
    /** Takes over what somebody has left in the note meanwhile. Throws `tx_gate_closed` when it cannot be read now. */
    look: async (): Promise<void> => {
      if (memory.unstored !== undefined) return
      const found = await note.read().catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error)) return damaged(error)
        throw txGateClosed(`TX may not go on air: the note of a disarm cannot be read (${error.message})`)
      })
      take(found)
    },
  }
}

type UnstoredDisarms = ReturnType<typeof unstoredDisarms>

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
  /**
   * Throws `tx_gate_closed`, `validation_failed` (unknown profile; an empty id: none is named), `invalid_transition` (another one
   * is armed).
   */
  arm(tx: MutationTx, principal: Principal, profileId: string): Promise<TxGateState>
  /** Throws `tx_gate_closed` when no configured profile could be armed. */
  refuseWhileClosed(): Promise<void>
  /** Writes the disarmed state, as of `atMs`. The caller has stopped the transmitter. Twice changes nothing. */
  disarm(tx: MutationTx, principal: Principal, atMs: number): Promise<void>
  /** The record of a disarm is on its way: nothing is permitted until the function that it returns says that this is over. */
  beginDisarm(): () => void
  /** The armed transmitter against the gates as they are now; undefined while disarmed. */
  review(): Promise<ArmReview | undefined>
  /** All profiles, each judged as an arm of it would be: those of the file in its order, then the others by name. */
  profiles(): Promise<readonly object[]>
  /** What becomes of the transmitter when this machine fails; undefined when no radio is configured, or nobody knows. */
  fallback(): RadioFallback | undefined
  /** That profile as an arm of it would be judged, whether it is stored or not. */
  judge(id: string, profile: RadioProfile): Promise<object>
  /**
   * Why an armed transmitter must go off by what was read last from the store; empty when it may stay. For the time in which
   * the store does not answer.
   */
  lastReasons(): readonly string[]
  /** Disarms for reasons that `review` gave, in the name of the service. */
  disarmItself(review: ArmReview): Promise<void>
  /**
   * From this turn on nothing may go on air until that disarm is stored. `review` gives it as a reason once no record of it is
   * on its way. True when it is on the disk, so that a restart keeps it.
   */
  hold(by: string, atMs: number): Promise<boolean>
  /** From this turn on nothing may go on air until the disarm that the service has begun itself is stored. */
  holdItself(): void
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
  const { db } = context
  const unstored = unstoredDisarms(context, memory, note)
  const basisNow = async (): Promise<GateBasis> => {
    const bundle = await policy.refresh()
    memory.storedProfiles = await storedProfiles(db)
    return basisOf(context, bundle, memory.storedProfiles)
  }
  const armNow = async (): Promise<Arm | undefined> => {
    const arm = await currentArm(db)
    memory.lastArm = arm
    return arm
  }
  const reasonsOf = (basis: GateBasis, arm: Arm): readonly string[] => {
    const held = unstored.of(arm)
    return [...(held === undefined ? [] : [unstoredText(held)]), ...ownReasons(context, basis, arm)]
  }
  const permit = async (profileId: string): Promise<RadioProfile> => {
    const { stops } = memory
    // Who disarms beside the service leaves it in the note.
    await unstored.look()
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
  const judged = (basis: GateBasis, arm: Arm | undefined, id: string, profile: RadioProfile): object =>
    judgedProfile(basis, id, profile, {
      isArmed: id === arm?.profileId,
      isInFile: Object.hasOwn(fileProfiles(context), id),
      problems: context.maybe(ranDriverRef)?.problems?.(profile) ?? [],
      fallback: context.maybe(ranDriverRef)?.fallback?.(),
    })
  return {
    memory,
    ...armCommands(context, { policy, transmitters, memory, note, unstored }),
    hold: unstored.hold,
    holdItself: unstored.holdItself,
    recall: unstored.recall,
    state: async () => {
      const [basis, arm] = [await basisNow(), await armNow()]
      const isOff = arm !== undefined && transmitters.areSilent()
      return gateState(basis, arm, isOff ? 'off' : transmitters.state())
    },
    profiles: async () => {
      const basis = await basisNow()
      const arm = await armNow()
      return Object.entries(basis.profiles).map(([id, profile]) => judged(basis, arm, id, profile))
    },
    fallback: () => context.maybe(ranDriverRef)?.fallback?.(),
    judge: async (id, profile) => judged(await basisNow(), await armNow(), id, profile),
    permit,
    refuseWhileClosed: async () => refuseClosed(await basisNow(), undefined),
    permitCarrier: async (carrier) => {
      refuseClosed(await basisNow(), carrier)
    },
    beginDisarm: () => {
      memory.disarms += 1
      return () => {
        memory.disarms -= 1
        // A permit that has read the arm before the record was in is none.
        memory.stops += 1
        if (memory.unstored !== undefined) context.enqueue(TX_RESOURCE, TX_KEY)
      }
    },
    review: async () => {
      const basis = await basisNow()
      const arm = await armNow()
      // What a record on its way says it says itself.
      const isOnItsWay = memory.disarms > 0
      if (!isOnItsWay && (arm === undefined || unstored.of(arm) === undefined)) void unstored.forget()
      if (arm === undefined) return undefined
      const reasons = isOnItsWay ? ownReasons(context, basis, arm) : reasonsOf(basis, arm)
      return { arm, reasons, expiresAtMs: expiryMs(basis.spectrum.license) }
    },
    lastReasons: () => {
      const { lastArm } = memory
      return lastArm === undefined
        ? []
        : reasonsOf(basisOf(context, policy.bundle(), memory.storedProfiles ?? {}), lastArm)
    },
    close: () => {
      memory.isClosed = true
    },
  }
}

/** Why an arm must end, beside a disarm of somebody: what the gate says, and what the radio does otherwise than its profile says. */
function ownReasons(context: Context, basis: GateBasis, arm: Arm): readonly string[] {
  return [...disarmReasons(basis, arm), ...(context.maybe(ranDriverRef)?.deviations?.(arm.profile) ?? [])]
}

/** The profiles of the configuration file. No other of the same name counts. */
export function fileProfiles({ settings }: Pick<Context, 'settings'>): NamedProfiles {
  return sectionOf(settings, 'ran').profiles ?? {}
}

/** What the gate is judged by, under that policy and with those stored profiles. */
function basisOf(context: Context, { spectrum }: PolicyBundle, stored: NamedProfiles): GateBasis {
  const { settings, clock } = context
  const file = fileProfiles(context)
  const others = Object.entries(stored).filter(([id]) => !Object.hasOwn(file, id))
  const profiles = { ...file, ...Object.fromEntries(others) }
  return { country: settings.server.country, profiles, spectrum, nowMs: clock.nowMs() }
}

/** What an interval on air ends with. */
type ArmEnd = Parameters<typeof endArm>[2]

type ArmCommands = Pick<TxControl, 'arm' | 'disarm' | 'disarmItself' | 'changeLicense'>

interface ArmParts {
  readonly policy: CurrentPolicy
  readonly transmitters: Transmitters
  readonly memory: GateMemory
  readonly note: DisarmNote
  readonly unstored: UnstoredDisarms
}

function armCommands(context: Context, parts: ArmParts): ArmCommands {
  const { policy, transmitters, memory, note, unstored } = parts
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
      const stored = await storedProfiles(tx)
      const armed = await currentArm(tx)
      // What was disarmed is over: a note that came beside the service, or stayed, means no arm of now.
      if (armed === undefined && memory.disarms === 0) await unstored.forget()
      const basis = basisOf(context, bundle, stored)
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
    changeLicense: async (tx, before, after, by) => {
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
    },
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
