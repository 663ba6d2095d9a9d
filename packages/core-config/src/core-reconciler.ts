import {
  type Context,
  type CoreDriver,
  type CorePlan,
  coreConfigRefused,
  coreDriverRef,
  isServiceError,
  type Outcome,
  type Reconciler,
  type Rendered,
  validationFailed,
} from '@steeple/contracts'
import { errorWords } from '@steeple/southbound'
import type { Applier } from './apply.ts'
import type { CoreBoard } from './core-board.ts'
import { coreDesired } from './desired.ts'
import { noDriverWords, planOf } from './plan.ts'

/** Reconciler that keeps the core at its configuration; its one key is the node. */
export const CORE_CONFIG_RESOURCE = 'core_config'

/** How often the core is looked at although nobody changed anything, ms. */
const RESYNC_MS = 60_000
/** Longest apply: a dozen daemons that need their whole stop timeout, the wait for their health, and the way back. */
const LONGEST_MS = 600_000

/** What the reconciler works with. */
export interface CoreParts {
  readonly context: Context
  readonly board: CoreBoard
  readonly applier: Applier
  key(): string
}

/** The reconciler, and what makes it try once more. */
export interface CoreControl {
  readonly reconciler: Reconciler
  /** A configuration that the core refused may be tried once more. */
  retry(): void
}

const FINAL: ReadonlySet<string> = new Set([coreConfigRefused.code, validationFailed.code])

/**
 * Level-triggered: renders, compares, applies what differs, through whichever driver provides `core.driver`.
 *
 * What the core refused, and what cannot be rendered, is terminal until something else is wanted or the configuration
 * is reloaded (SIGHUP); what an outage prevented is tried again with backoff. With `southbound.driver: none` it only
 * compares. Over files of others nothing is applied until an operator agrees.
 */
export function coreReconciler({ context, board, applier, key }: CoreParts): CoreControl {
  let mayRetry = false
  /** What the core refused since this process began: not every driver keeps a record. */
  let refusedHere: { readonly sha256: string; readonly words: string } | undefined
  const giveUp = (words: string): Outcome => {
    board.say('degraded', words)
    return { state: 'terminal', reason: words }
  }
  const refusalOf = ({ refused }: CorePlan, { sha256 }: Rendered): string | undefined =>
    // What this process was told says also how the way back went.
    mayRetry ? undefined : refusedHere?.sha256 === sha256 ? refusedHere.words : refused
  const applied = async (driver: CoreDriver, set: Rendered, signal: AbortSignal): Promise<CorePlan> => {
    try {
      await applier.apply(driver, set, signal)
      refusedHere = undefined
    } catch (error) {
      if (isServiceError(error) && FINAL.has(error.code))
        refusedHere = { sha256: set.sha256, words: errorWords(error) }
      throw error
    }
    return await planOf(driver, set, signal)
  }
  const step = async (driver: CoreDriver, signal: AbortSignal): Promise<Outcome> => {
    const set = await driver.render(coreDesired(context))
    const plan = await planOf(driver, set, signal)
    if (context.settings.southbound.driver === 'none') {
      board.compared(plan)
      return { state: 'converged' }
    }
    if (plan.state === 'unconfigured' || (plan.held ?? []).length > 0) return giveUp(plan.problems.join('; '))
    if (plan.state === 'in_sync') {
      applier.isGood(set)
      board.inForce(set, plan)
    } else {
      const refused = refusalOf(plan, set)
      if (refused !== undefined) return giveUp(refused)
      board.inForce(set, await applied(driver, set, signal))
    }
    mayRetry = false
    return { state: 'converged' }
  }
  const pass = async (signal: AbortSignal): Promise<Outcome> => {
    const driver = context.maybe(coreDriverRef)
    if (driver === undefined) {
      // Nothing has failed: the core is looked at again when a driver comes, as one does in the middle of an upgrade.
      board.say('degraded', noDriverWords(context.settings.core))
      return { state: 'converged' }
    }
    try {
      return await step(driver, signal)
    } catch (error) {
      signal.throwIfAborted()
      if (isServiceError(error) && FINAL.has(error.code)) {
        mayRetry = false
        return giveUp(errorWords(error))
      }
      board.say('degraded', errorWords(error))
      throw error
    }
  }
  return {
    retry: () => {
      mayRetry = true
    },
    reconciler: {
      resource: CORE_CONFIG_RESOURCE,
      runs: 'machine',
      resyncMs: RESYNC_MS,
      timeoutMs: LONGEST_MS,
      keys: async () => [key()],
      reconcile: async (keys, signal) => {
        const outcome = await pass(signal)
        return new Map(keys.map((one) => [one, outcome]))
      },
    },
  }
}
