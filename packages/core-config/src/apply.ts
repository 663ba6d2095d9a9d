import {
  type Context,
  type CoreApplied,
  type CoreDriver,
  coreConfigRefused,
  isServiceError,
  nodeIdentityRef,
  type Rendered,
  systemPrincipal,
} from '@steeple/contracts'
import { errorWords } from '@steeple/southbound'

/** Applies sets through a driver; counts, logs and audits what came of it. */
export interface Applier {
  /** Throws as `CoreDriver.apply` does. What the core refused and the driver left in force is taken back. */
  apply(driver: CoreDriver, set: Rendered, signal: AbortSignal): Promise<void>
  /** The core was seen well with that set: what to go back to. */
  isGood(set: Rendered): void
}

/** Registers the counter; opens nothing. */
export function createApplier(context: Context): Applier {
  const applies = context.metrics.counter(
    'svc_core_config_apply_total',
    'Changes of the configuration of the core, by result.',
    ['result'],
  )
  let good: Rendered | undefined
  const core = (): string => context.settings.core
  const refused = async (
    driver: CoreDriver,
    set: Rendered,
    error: Error,
    signal: AbortSignal,
  ): Promise<void> => {
    const back = await takenBack(driver, set, good, signal)
    const reason = [errorWords(error), back].filter((words) => words !== '').join('. ')
    context.log.error({ core: core(), reason }, 'core refused its configuration')
    await audit(context, 'core.config_refused', { core: core(), reason })
    if (back !== '') throw coreConfigRefused(reason)
  }
  return {
    isGood: (set) => {
      good = set
    },
    apply: async (driver, set, signal) => {
      try {
        const done = await driver.apply(set, signal)
        good = set
        applies.inc({ result: 'applied' })
        const facts = { core: core(), ...factsOf(done) }
        context.log.info(facts, 'core configuration applied')
        await audit(context, 'core.config_apply', facts)
      } catch (error) {
        signal.throwIfAborted()
        const isRefused = isServiceError(error) && error.code === coreConfigRefused.code
        applies.inc({ result: isRefused ? 'refused' : 'failed' })
        if (isRefused) await refused(driver, set, error, signal)
        throw error
      }
    },
  }
}

/** Puts the last good set back when the core holds the refused one all the same: how that went; empty when it does not. */
async function takenBack(
  driver: CoreDriver,
  set: Rendered,
  good: Rendered | undefined,
  signal: AbortSignal,
): Promise<string> {
  try {
    const { configSha256 } = await driver.observe(signal)
    if (configSha256 !== set.sha256) return ''
    if (good === undefined) return 'There is no earlier configuration to go back to: the refused one stays'
    await driver.apply(good, signal)
    return 'The last good configuration is back'
  } catch (error) {
    signal.throwIfAborted()
    return `The way back to the last good configuration failed: ${errorWords(error)}`
  }
}

/** What a driver says that it has done; one written in plain JavaScript may say nothing. */
function factsOf(done: Partial<CoreApplied> | undefined): object {
  return { changed: done?.changed ?? [], restarted: done?.restarted ?? [] }
}

/** The trail tells the story; what cannot be written there now is in the log. */
async function audit(
  context: Context,
  action: string,
  detail: Readonly<Record<string, unknown>>,
): Promise<void> {
  const target = context.maybe(nodeIdentityRef)?.nodeId ?? 'core'
  try {
    await context.mutate(systemPrincipal('core_config'), action, target, async (tx) => {
      tx.audit({ detail })
    })
  } catch (error) {
    context.log.error({ err: error, action }, 'audit entry could not be written')
  }
}
