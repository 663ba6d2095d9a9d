import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Clock, untilAborted } from '@steeple/contracts'

export interface Resolver {
  /** The address of a name or of itself; undefined when it has none, or none could be found in short time. */
  addressOf(host: string): Promise<string | undefined>
}

/** How long an answer is used again. */
const FRESH_MS = 60_000
/** A look-up that takes longer goes on, and its answer is there at the next look. */
const PATIENCE_MS = 1_000

/** By the system's resolver. A name that once had an address keeps it while the look-up fails. */
export function systemResolver(clock: Clock): Resolver {
  const known = new Map<string, { readonly address: string | undefined; readonly atMs: number }>()
  const running = new Map<string, Promise<void>>()
  const ask = async (host: string): Promise<void> => {
    const before = known.get(host)?.address
    const found = await lookup(host).then(
      ({ address }) => address,
      () => undefined,
    )
    known.set(host, { address: found ?? before, atMs: clock.monotonicMs() })
    running.delete(host)
  }
  return {
    addressOf: async (host) => {
      if (isIP(host) !== 0) return host
      const last = known.get(host)
      if (last !== undefined && clock.monotonicMs() - last.atMs < FRESH_MS) return last.address
      const asking = running.get(host) ?? ask(host)
      running.set(host, asking)
      await untilAborted(asking, AbortSignal.timeout(PATIENCE_MS)).catch(() => undefined)
      if (known.has(host)) running.delete(host)
      return known.get(host)?.address
    },
  }
}
