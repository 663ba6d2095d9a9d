import {
  type Context,
  type CoreChanges,
  type CoreOutlook,
  type CorePlan,
  type CoreWork,
  coreDriverRef,
} from '@steeple/contracts'
import { errorWords } from '@steeple/southbound'
import { coreDesired, planOf } from './plan.ts'

/** The changes of this service, for who tells them from outages. */
export interface ChangeRecord {
  readonly changes: CoreChanges
  /** These daemons are about to restart, since these files change. */
  begin(work: Pick<CoreWork, 'files' | 'daemons'>, expectedS: number | undefined): void
  /** It has failed: whatever is not well from now on is no work. */
  fail(): void
}

/** A core is looked at every few seconds, and its base stations come back by themselves: no plan is over sooner, ms. */
const LEAST_MS = 30_000

export function changeRecord(context: Context): ChangeRecord {
  const { clock } = context
  let last: CoreWork | undefined
  return {
    begin: ({ files, daemons }, expectedS = 0) => {
      if (daemons.length === 0) return
      const sinceMs = clock.nowMs()
      last = { files, daemons, sinceMs, untilMs: sinceMs + Math.max(expectedS * 1_000, LEAST_MS) }
    },
    fail: () => {
      last &&= { ...last, untilMs: Math.min(last.untilMs, clock.nowMs()) }
    },
    changes: {
      last: () => last,
      outlook: (change, signal) => outlookOf(context, change, signal),
    },
  }
}

type Change = Parameters<CoreChanges['outlook']>[0]

/** What other settings or APNs would do to the core that this service drives, while its driver stays. */
async function outlookOf(
  context: Context,
  { settings = context.settings, ...change }: Change,
  signal: AbortSignal,
): Promise<CoreOutlook | undefined> {
  const driver = context.maybe(coreDriverRef)
  const isOurs = settings.southbound.driver !== 'none' && settings.core === context.settings.core
  if (driver === undefined || !isOurs) return undefined
  try {
    const set = await driver.render(coreDesired(context, change, settings), settings)
    const plan = await planOf(driver, set, signal, settings)
    const { dropped, expectedS, problems, originals = [] } = plan
    // Where earlier files are kept is no news of a change.
    const notes = plan.notes.filter((note) => !originals.some((folder) => note.includes(folder)))
    // Files of others are left alone until somebody agrees.
    if (plan.state === 'in_sync' || (plan.held ?? []).length > 0) return undefined
    return { restarts: restartsIn(plan), dropped, expectedS, notes, problems }
  } catch (error) {
    signal.throwIfAborted()
    return {
      restarts: [],
      dropped: undefined,
      expectedS: undefined,
      notes: [],
      problems: [errorWords(error)],
    }
  }
}

/** Daemons that a plan restarts, in that order. */
export function restartsIn({ daemons }: Pick<CorePlan, 'daemons'>): readonly string[] {
  return daemons.flatMap(({ name, action }) => (action === 'restart' ? [name] : []))
}
