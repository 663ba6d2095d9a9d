import {
  type ComponentHealth,
  type Context,
  type CoreApplied,
  type CoreDriver,
  type CorePlan,
  coreConfigRefused,
  coreDriverRef,
  countText,
  isServiceError,
  nodeIdentityRef,
  type Outcome,
  type Reconciler,
  type Rendered,
  systemPrincipal,
  validationFailed,
} from '@steeple/contracts'
import { errorWords } from '@steeple/southbound'
import { type ChangeRecord, restartsIn } from './core-changes.ts'
import { syncOverlays } from './kept-overlays.ts'
import { coreDesired, noDriverWords, planOf } from './plan.ts'

/** Registers the counter; opens nothing. */
function createApplier(context: Context) {
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
    /** The core was seen well with that set: what to go back to. */
    isGood: (set: Rendered): void => {
      good = set
    },
    /** Throws as `CoreDriver.apply` does. What the core refused and the driver left in force is taken back. */
    apply: async (driver: CoreDriver, set: Rendered, signal: AbortSignal): Promise<void> => {
      try {
        const done = await driver.apply(set, signal)
        good = set
        applies.inc({ result: 'applied' })
        const facts = { core: core(), ...factsOf(done) }
        context.log.info(facts, 'core configuration applied')
        await audit(context, 'core.config_apply', facts)
        if (done?.undone !== undefined)
          await audit(context, 'core.edit_undone', { core: core(), ...done.undone })
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

/** A board that was told nothing yet. */
function coreBoard(context: Context) {
  let status: ComponentHealth['status'] = 'ok'
  let detail = 'its configuration was not looked at yet'
  const say = (next: ComponentHealth['status'], words: string): void => {
    const isOther = next !== status || words !== detail
    status = next
    detail = words
    if (isOther) context.healthChanged()
  }
  return {
    say,
    /** The set is in force; what the plan complains of besides is not lost. */
    inForce: (set: Rendered, { dir, problems, originals = [] }: CorePlan): void => {
      const where = dir === '' ? '' : ` in ${dir}`
      const kept =
        originals.length === 0 ? '' : `; files that were there before are kept in ${originals.join(', ')}`
      if (problems.length === 0) say('ok', `${countText(set.files.size, 'file')} in force${where}${kept}`)
      else say('degraded', `${problems.join('; ')}${kept}`)
    },
    /** Nothing may be written: it is nobody's fault that nothing is. */
    compared: (plan: CorePlan): void => say(...comparedWords(plan)),
    health: (): readonly ComponentHealth[] => [
      {
        name: 'core',
        kind: 'core',
        status,
        detail,
        required: context.settings.southbound.driver !== 'none',
      },
    ],
  }
}

function comparedWords(plan: CorePlan): readonly [ComponentHealth['status'], string] {
  const why = 'southbound.driver is none'
  if (plan.state === 'unconfigured')
    return ['ok', `${why} and no directory is configured: nothing is compared`]
  if (plan.state === 'unknown') return ['degraded', plan.problems.join('; ')]
  const where = plan.dir === '' ? '' : ` in ${plan.dir}`
  const held = plan.held ?? []
  // To watch the core of somebody else is nobody's fault.
  if (held.length > 0)
    return [
      'ok',
      `only looked at: ${countText(held.length, 'file')} of others${where} (${why}); svc core adopt says how they differ`,
    ]
  if (plan.state === 'in_sync') return ['ok', `${why}: the core's configuration${where} is as it should be`]
  const files = plan.files.filter(({ change }) => change !== 'same').length
  const daemons = restartsIn(plan)
  const restarts =
    daemons.length === 0
      ? 'nothing restarts'
      : `${daemons.join(', ')} ${daemons.length === 1 ? 'restarts' : 'restart'}`
  const what =
    plan.files.length === 0
      ? 'the configuration would change'
      : `${countText(files, 'file')}${where} would change and ${restarts}`
  return ['degraded', `${why}: ${what}; see GET /v1/core/plan`]
}

/** Reconciler that keeps the core at its configuration; its one key is the node. */
export const CORE_CONFIG_RESOURCE = 'core_config'

/** How often the core is looked at although nobody changed anything, ms. */
const RESYNC_MS = 60_000
/** Longest apply: a dozen daemons that need their whole stop timeout, the wait for their health, and the way back. */
const LONGEST_MS = 600_000

/** The reconciler, and what makes it try once more. */
interface CoreControl {
  readonly reconciler: Reconciler
  health(): readonly ComponentHealth[]
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
export function coreReconciler(context: Context, key: () => string, work: ChangeRecord): CoreControl {
  const [board, applier] = [coreBoard(context), createApplier(context)]
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
  const applied = async (
    driver: CoreDriver,
    set: Rendered,
    plan: CorePlan,
    signal: AbortSignal,
  ): Promise<CorePlan> => {
    const files = plan.files.flatMap(({ path, change }) => (change === 'same' ? [] : [path]))
    const daemons = restartsIn(plan)
    const facts = { core: context.settings.core, files, restarts: daemons, phones: plan.dropped ?? null }
    context.log.info(facts, 'core configuration is being applied')
    work.begin({ files, daemons }, plan.expectedS)
    try {
      await applier.apply(driver, set, signal)
      refusedHere = undefined
    } catch (error) {
      work.fail()
      if (isServiceError(error) && FINAL.has(error.code))
        refusedHere = { sha256: set.sha256, words: errorWords(error) }
      throw error
    }
    return await planOf(driver, set, signal)
  }
  const step = async (driver: CoreDriver, signal: AbortSignal): Promise<Outcome> => {
    await syncOverlays(context, driver, signal)
    const set = await driver.render(coreDesired(context))
    const plan = await planOf(driver, set, signal)
    if (context.settings.southbound.driver === 'none') {
      board.compared(plan)
      return { state: 'converged' }
    }
    if (plan.state === 'unconfigured' || (plan.held ?? []).length > 0) {
      // Whoever moves files away tells nobody: it is looked at again.
      board.say('degraded', plan.problems.join('; '))
      return { state: 'converged' }
    }
    if (plan.state === 'in_sync') {
      applier.isGood(set)
      board.inForce(set, plan)
    } else {
      const refused = refusalOf(plan, set)
      if (refused !== undefined) return giveUp(refused)
      // Policy or files of the operator's own may have changed meanwhile: half of each must not restart anybody.
      if ((await driver.render(coreDesired(context))).sha256 !== set.sha256) return await step(driver, signal)
      board.inForce(set, await applied(driver, set, plan, signal))
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
    health: board.health,
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
