import { type Context, systemPrincipal, txGateClosed } from '@steeple/contracts'
import { principalText } from '../principal-text.ts'
import type { Arm } from '../store.ts'
import type { DisarmNote } from './disarm-note.ts'
import type { GateMemory, UnstoredDisarm } from './gate-memory.ts'
import { TX_RESOURCE } from './tx-resource.ts'

/** In whose name TX is disarmed when it cannot be known whether somebody had. */
const UNREADABLE_NOTE = principalText(systemPrincipal('unreadable-note'))

/** A disarm that the store does not have yet: held in memory, and in the note so that a restart keeps it. */
export interface UnstoredDisarms {
  /** The one that is meant for that arm. */
  of(arm: Arm): UnstoredDisarm | undefined
  /** It is stored, or what it names is over. */
  forget(): Promise<void>
  /** See `TxControl.hold`. */
  hold(by: string, atMs: number): Promise<boolean>
  /** See `TxControl.holdItself`. */
  holdItself(): void
  /** See `TxControl.recall`. */
  recall(): Promise<void>
  /** Takes over what somebody has left in the note meanwhile. Throws `tx_gate_closed` when it cannot be read now. */
  look(): Promise<void>
}

/** Over the memory of the gate and its note. */
export function unstoredDisarms(context: Context, memory: GateMemory, note: DisarmNote): UnstoredDisarms {
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
    of: (arm) => {
      const { unstored } = memory
      if (unstored === undefined) return undefined
      const { intervalId, atMs } = unstored
      // One that names no interval means any: the clock may have been set back since the arm. What names one means also an arm
      // that was being committed, whose interval it could not know.
      const isMeant = intervalId === null || intervalId === arm.intervalId || arm.armedAtMs <= atMs
      return isMeant ? unstored : undefined
    },
    forget: async () => {
      if (memory.unstored === undefined) return
      memory.unstored = undefined
      // Should it stay, it names an interval that is over.
      await note.write(undefined).catch(() => undefined)
    },
    holdItself: () => {
      if (memory.unstored === undefined) void hold(principalText(systemPrincipal(TX_RESOURCE)), clock.nowMs())
    },
    recall: async () => {
      take(await note.read().catch(damaged))
      await note.prepare().catch((error: unknown) => {
        context.log.warn({ err: error }, 'there is no room for the note of a disarm')
      })
    },
    look: async () => {
      if (memory.unstored !== undefined) return
      const found = await note.read().catch((error: unknown) => {
        if (!(error instanceof Error && 'code' in error)) return damaged(error)
        throw txGateClosed(`TX may not go on air: the note of a disarm cannot be read (${error.message})`)
      })
      take(found)
    },
  }
}
