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

/** Programs are started only where something is to be there, or may have been left by an earlier run. */
export function breakoutKeeper({ table, forwarding, routing }: KernelParts): BreakoutKeeper {
  let mayHaveTable = true
  let mayHaveRules = true
  const keepTable = async (wanted: Wanted, signal: AbortSignal): Promise<readonly string[]> => {
    if (wanted.table === undefined) {
      if (!mayHaveTable) return []
      const wasThere = await table.remove(signal)
      mayHaveTable = false
      return wasThere ? ['translation removed'] : []
    }
    mayHaveTable = true
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
    if (pools.length === 0 && !mayHaveRules) return []
    mayHaveRules = true
    const hasChanged = await routing.keep(pools, device, signal)
    mayHaveRules = pools.length > 0
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
      if (mayHaveTable) await table.remove(signal)
      mayHaveTable = false
    },
  }
}
