import type { Forwarding, TranslationTable } from './kernel.ts'
import type { PeerRouting } from './peer-routing.ts'
import type { Wanted } from './wanted.ts'

/** What was seen to be so after the last look. */
export interface Breakout {
  readonly mode: 'local' | 'peer' | 'off'
  /** Why phones are not let out as was asked for; undefined when they are. */
  readonly reason: string | undefined
  /** Whether something that was asked of the kernel could not be had. */
  readonly isBroken: boolean
}

/** The kernel's part of breakout. */
export interface KernelParts {
  readonly table: TranslationTable
  readonly forwarding: Forwarding
  readonly routing: PeerRouting
}

/** Holds the kernel at what is wanted. */
export interface BreakoutKeeper {
  /** What it had to put right, in words for the log. Throws what stood in the way. */
  keep(wanted: Wanted, device: string | undefined, signal: AbortSignal): Promise<readonly string[]>
  /** Takes everything away again that it made, also in an earlier run. */
  clear(signal: AbortSignal): Promise<void>
}

/** `maybe`: an earlier run may have left it. */
type Presence = 'yes' | 'maybe' | 'no'

/** Takes away what may be there; where nobody may look, and nothing is wanted, an earlier run could do nothing either. */
async function without<T>(presence: Presence, nothing: T, remove: () => Promise<T>): Promise<T> {
  if (presence === 'no') return nothing
  try {
    return await remove()
  } catch (error) {
    if (presence === 'yes') throw error
    return nothing
  }
}

/** Programs are started only where something is to be there, or may have been left by an earlier run. */
export function breakoutKeeper({ table, forwarding, routing }: KernelParts): BreakoutKeeper {
  let hasTable: Presence = 'maybe'
  let hasRules: Presence = 'maybe'
  const keepTable = async (wanted: Wanted, signal: AbortSignal): Promise<readonly string[]> => {
    if (wanted.table === undefined) {
      const wasThere = await without(hasTable, false, () => table.remove(signal))
      signal.throwIfAborted()
      hasTable = 'no'
      return wasThere ? ['translation removed'] : []
    }
    hasTable = 'yes'
    const done = (await table.keep(wanted.table, signal)) ? ['translation put in place'] : []
    if (!wanted.isForwarding || (await forwarding.isOn())) return done
    await forwarding.turn(true)
    return [...done, 'forwarding turned on']
  }
  const keepRules = async (
    pools: readonly string[],
    device: string | undefined,
    signal: AbortSignal,
  ): Promise<readonly string[]> => {
    const keep = (): Promise<boolean> => routing.keep(pools, device, signal)
    if (pools.length > 0) hasRules = 'yes'
    const hasChanged = pools.length > 0 ? await keep() : await without(hasRules, false, keep)
    signal.throwIfAborted()
    if (pools.length === 0) hasRules = 'no'
    return hasChanged ? ['routing of phones changed'] : []
  }
  return {
    keep: async (wanted, device, signal) => {
      // On the way in, addresses are translated before the first packet goes there.
      const done = await keepTable(wanted, signal)
      return [...done, ...(await keepRules(wanted.viaPeer, device, signal))]
    },
    clear: async (signal) => {
      await keepRules([], undefined, signal)
      await without(hasTable, false, () => table.remove(signal))
      hasTable = 'no'
    },
  }
}
