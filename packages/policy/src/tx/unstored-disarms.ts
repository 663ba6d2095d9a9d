import { type Context, systemPrincipal } from '@steeple/contracts'
import { principalText } from '../principal-text.ts'
import type { Arm } from '../store.ts'
import type { DisarmNote } from './disarm-note.ts'
import type { GateMemory, UnstoredDisarm } from './gate-memory.ts'
import { TX_KEY, TX_RESOURCE } from './tx-resource.ts'

/** In whose name TX is disarmed when it cannot be known whether somebody had. */
const UNREADABLE_NOTE = principalText(systemPrincipal('unreadable-note'))

/** A disarm that the store did not take: held in memory, and in the note so that a restart keeps it. */
export interface UnstoredDisarms {
  /** The one that is meant for that arm. */
  of(arm: Arm): UnstoredDisarm | undefined
  /** It is stored, or what it names is over. */
  forget(): void
  /** See `TxControl.hold`. */
  hold(by: string, atMs: number): Promise<boolean>
  /** See `TxControl.recall`. */
  recall(): Promise<void>
}

/** Over the memory of the gate and its note. */
export function unstoredDisarms(context: Context, memory: GateMemory, note: DisarmNote): UnstoredDisarms {
  const { clock } = context
  return {
    of: (arm) => {
      const { unstored } = memory
      if (unstored === undefined) return undefined
      const isMeant =
        unstored.intervalId === null ? arm.armedAtMs <= unstored.atMs : unstored.intervalId === arm.intervalId
      return isMeant ? unstored : undefined
    },
    forget: () => {
      if (memory.unstored === undefined) return
      memory.unstored = undefined
      // Should it stay, it names an interval that is over.
      note.write(undefined).catch(() => undefined)
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
  }
}
