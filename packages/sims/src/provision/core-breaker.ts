import { type Context, type CoreDriver, coreDriverRef, untilAborted, type Vault } from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { SimsConfig } from '../config.ts'
import { openImsi } from '../secrets/sealing.ts'
import type { SimRow } from '../store/sim-row.ts'
import type { Detached } from './end-board.ts'

/** What a kick has come to. `unknown`: the core did not say. */
export type Kicked = Detached | 'unknown'

/** The circuit breaker before the core: whichever driver is loaded, and whether it is worth a try now. */
export interface CoreBreaker {
  /** Has the core let sessions go, a few at a time; one outcome for each row. */
  kick(rows: readonly SimRow[], signal: AbortSignal): Promise<ReadonlyMap<string, Kicked>>
  /** Why the core takes no kicks; undefined while it does. */
  problem(): string | undefined
}

/** Kicks at a time: each is a request or two to the core. */
const KICKS = 8
/** Bound on one kick: a core that hangs must not hold up the other cuts. */
const KICK_MS = 5_000
/** So many kicks in a row without an answer, and the core is left alone for a while: one alone may be to blame itself. */
const PATIENCE = 3
const REST_MS = 5_000

/** With neither files nor subscribers to write, nobody is cut off either: a phone would be back at once. */
const LOOKS_ONLY = 'southbound.driver and hss.driver are none: nobody is cut off'

/** The breaker of a context. */
export function coreBreaker(context: Context<SimsConfig>, vault: Vault): CoreBreaker {
  let silent = 0
  let restsUntilMs = 0
  let reason = ''
  /** Gives up the kicks that are under way when the core is left alone. */
  let patience = new AbortController()
  const looksOnly = (): boolean =>
    context.settings.southbound.driver === 'none' && context.settings.hss.driver === 'none'
  const isResting = (): boolean => restsUntilMs > context.clock.monotonicMs()

  const unanswered = (error: unknown): void => {
    silent += 1
    reason = safeText(error)
    if (silent < PATIENCE || isResting()) return
    if (silent === PATIENCE) context.log.warn({ reason }, 'core takes no kicks')
    restsUntilMs = context.clock.monotonicMs() + REST_MS
    patience.abort()
    patience = new AbortController()
  }

  const one = async (core: CoreDriver, row: SimRow, signal: AbortSignal): Promise<Kicked> => {
    if (isResting()) return 'unknown'
    const bound = AbortSignal.any([signal, patience.signal, AbortSignal.timeout(KICK_MS)])
    try {
      const how = await untilAborted(core.kick(openImsi(vault, row), bound), bound)
      if (silent >= PATIENCE) context.log.info({ kicks: silent }, 'core takes kicks again')
      silent = 0
      return how
    } catch (error) {
      signal.throwIfAborted()
      unanswered(bound.aborted ? new Error('the core did not answer in time') : error)
      return 'unknown'
    }
  }

  return {
    problem: () => (looksOnly() ? LOOKS_ONLY : silent < PATIENCE ? undefined : reason),
    kick: async (rows, signal) => {
      const core = context.maybe(coreDriverRef)
      if (core === undefined) return new Map(rows.map(({ hash }) => [hash, 'not_attached']))
      if (looksOnly()) return new Map(rows.map(({ hash }) => [hash, 'unknown']))
      const kicked = new Map<string, Kicked>()
      const waiting = [...rows]
      const worker = async (): Promise<void> => {
        for (let row = waiting.pop(); row !== undefined; row = waiting.pop())
          kicked.set(row.hash, await one(core, row, signal))
      }
      await Promise.all(Array.from({ length: Math.min(KICKS, rows.length) }, worker))
      return kicked
    },
  }
}
