import type { Technology } from '@steeple/contracts'
import type { Drops } from '../config-set/daemon.ts'
import { abortable } from '../time-limit.ts'
import type { CoreFilesParts } from './parts.ts'

/** How long the core may take to list its phones, ms. */
const UES_MS = 5_000

const TECHNOLOGIES: Readonly<Record<Drops, readonly Technology[]>> = {
  lte: ['lte'],
  nr: ['nr'],
  all: ['lte', 'nr'],
  none: [],
}

/** Phones that a restart cuts off; no count, and why, when the core does not tell. */
export interface Dropped {
  count(drops: Drops): number | undefined
  readonly problem: string | undefined
}

/** Counts who is registered now, over all that any of these drops. */
export async function droppedBy(
  all: readonly Drops[],
  { ues }: CoreFilesParts,
  signal: AbortSignal,
): Promise<Dropped> {
  const registered = new Map<Technology, ReadonlySet<string>>()
  const asked = new Set(all.flatMap((drops) => TECHNOLOGIES[drops]))
  if (ues === undefined) return { count: (drops) => (drops === 'none' ? 0 : undefined), problem: undefined }
  let problem: string | undefined
  try {
    for (const technology of asked) {
      const known = await abortable(ues(technology, signal), signal, UES_MS)
      registered.set(
        technology,
        new Set(known.filter(({ isRegistered }) => isRegistered).map(({ imsi }) => imsi)),
      )
    }
  } catch {
    signal.throwIfAborted()
    // Its words are left out: they belong to the core's own component of the health.
    problem = 'the core does not tell how many subscribers it serves now'
  }
  return {
    count: (drops) => {
      const sets = TECHNOLOGIES[drops].map((technology) => registered.get(technology))
      if (sets.includes(undefined)) return undefined
      return new Set(sets.flatMap((set) => [...(set ?? [])])).size
    },
    problem,
  }
}
