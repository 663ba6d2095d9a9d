import type { HssDriver } from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { countUnsynced } from '../store/sim-store.ts'

/** How often everybody whom the HSS holds is counted: it reads all of its subscribers for that. */
export const SURVEY_MS = 60_000

/** How many subscribers of the HSS are not of this service; they are left alone. */
export interface OthersInHss {
  look(signal: AbortSignal): Promise<void>
  /** In words; empty while nothing is known, and when there is nobody. */
  view(): string
}

/** Nobody was counted yet. */
export function othersInHss(parts: Pick<SimsParts, 'context' | 'hss' | 'counters'>): OthersInHss {
  const { context, hss, counters } = parts
  let others = 0
  /** SIMs whose subscriber the HSS holds; undefined while some of them are under way. */
  const ours = async (): Promise<number | undefined> => {
    const { pending, failed } = await countUnsynced(context.db)
    if (pending + failed > 0) return undefined
    const states = counters.states()
    return (['issued', 'in-use', 'suspended'] as const).reduce(
      (sum, state) => sum + (states.get(state) ?? 0),
      0,
    )
  }
  return {
    look: async (signal) => {
      const survey: HssDriver['survey'] = hss.restMs() === undefined ? hss.driver()?.survey : undefined
      const before = survey === undefined ? undefined : await ours()
      if (survey === undefined || before === undefined) return
      // Its failure is no news of the HSS: pushes and comparisons tell of those.
      const found = await survey(signal).catch(() => undefined)
      signal.throwIfAborted()
      if (found === undefined || before !== (await ours())) return
      others = Math.max(0, found.subscribers - before)
    },
    view: () =>
      others === 0
        ? ''
        : `; ${others} ${others === 1 ? 'subscriber' : 'subscribers'} of the HSS ${others === 1 ? 'is' : 'are'} of no SIM here and left alone`,
  }
}
