import {
  type ComponentHealth,
  coreConfigRefused,
  isServiceError,
  type Outcome,
  type Reconciler,
  validationFailed,
} from '@steeple/contracts'
import type { ApplyResult } from '../config-set/apply.ts'
import { planConfigSet } from '../config-set/plan.ts'
import type { ApplyParts } from './apply-set.ts'
import type { CoreSet } from './core-set.ts'
import { counted, errorWords, unmanagedWords } from './words.ts'

/** Reconciler that keeps the core at its configuration; its one key is the node. */
export const CORE_CONFIG_RESOURCE = 'core_config'

/** How often the files are looked at although nobody changed anything, ms. */
const RESYNC_MS = 60_000
/** Longest apply: a dozen daemons that need their whole stop timeout, the wait for their health, and the way back. */
const LONGEST_MS = 600_000

/** What the reconciler works with. */
export interface ReconcilerParts extends ApplyParts {
  key(): string
  wanted(): Promise<CoreSet>
  applyInTurn(set: CoreSet, signal: AbortSignal): Promise<ApplyResult>
}

/** The reconciler and what it saw last. */
export interface CoreControl {
  readonly reconciler: Reconciler
  /** A configuration that the core refused may be tried once more. */
  retry(): void
  health(): readonly ComponentHealth[]
}

/**
 * Level-triggered: renders, compares, applies what differs.
 *
 * What the core refused, and what cannot be rendered, is terminal until something else is wanted or the configuration
 * is reloaded (SIGHUP); what an outage prevented is tried again with backoff. With `southbound.driver: none` it only
 * compares.
 */
export function coreReconciler(parts: ReconcilerParts): CoreControl {
  const { context } = parts
  const isOurs = (): boolean => context.settings.southbound.driver === 'container'
  let mayRetry = false
  let status: ComponentHealth['status'] = 'ok'
  let detail = 'its configuration was not looked at yet'
  const say = (next: ComponentHealth['status'], words: string): void => {
    status = next
    detail = words
  }
  const giveUp = (words: string): Outcome => {
    say('degraded', words)
    return { state: 'terminal', reason: words }
  }
  const step = async (signal: AbortSignal): Promise<Outcome> => {
    const set = await parts.wanted()
    if (!isOurs()) {
      say(...(await compared(set)))
      return { state: 'converged' }
    }
    if (set.obstacle !== undefined) return giveUp(set.obstacle)
    const { isInSync, refused } = await standingOf(set)
    if (refused !== undefined && !mayRetry) return giveUp(refused)
    // Without its policy a set may be one of the past: being in force already, it makes no refusal history.
    if (!isInSync || set.memo !== undefined) await parts.applyInTurn(set, signal)
    mayRetry = false
    const unnamed = set.daemons.filter(({ container }) => container === undefined).map(({ name }) => name)
    if (unnamed.length === 0) say('ok', `${counted(set.files.size, 'file')} in force in ${set.dir}`)
    else say('degraded', unmanagedWords(parts.parts.core, unnamed))
    return { state: 'converged' }
  }
  const pass = async (signal: AbortSignal): Promise<Outcome> => {
    try {
      return await step(signal)
    } catch (error) {
      signal.throwIfAborted()
      if (isServiceError(error) && FINAL.has(error.code)) {
        mayRetry = false
        return giveUp(errorWords(error))
      }
      say('degraded', errorWords(error))
      throw error
    }
  }
  return {
    retry: () => {
      mayRetry = true
    },
    health: () => [{ name: 'core', kind: 'core', status, detail, required: isOurs() }],
    reconciler: {
      resource: CORE_CONFIG_RESOURCE,
      resyncMs: RESYNC_MS,
      timeoutMs: LONGEST_MS,
      keys: async () => [parts.key()],
      reconcile: async (keys, signal) => {
        const outcome = await pass(signal)
        return new Map(keys.map((key) => [key, outcome]))
      },
    },
  }
}

const FINAL: ReadonlySet<string> = new Set([coreConfigRefused.code, validationFailed.code])

/** Whether a set is in force, and why the core has refused it before. */
async function standingOf(
  set: CoreSet,
): Promise<{ readonly isInSync: boolean; readonly refused: string | undefined }> {
  const { isInSync, state } = await planConfigSet(set)
  const { refused } = state.manifest
  return { isInSync, refused: isInSync || refused?.key !== set.key ? undefined : refused.words }
}

/** What `southbound.driver: none` says of the files; it is nobody's fault that nothing is written. */
async function compared(set: CoreSet): Promise<readonly [ComponentHealth['status'], string]> {
  if (set.obstacle !== undefined)
    return ['ok', 'southbound.driver is none and no directory is configured: nothing is compared']
  const plan = await planConfigSet(set, { comparesOnly: true })
  if (plan.isInSync) return ['ok', `southbound.driver is none: the files in ${set.dir} are as they should be`]
  const files = plan.files.filter(({ change }) => change !== 'same').length
  const daemons = plan.daemons.filter(({ action }) => action === 'restart').map(({ name }) => name)
  return [
    'degraded',
    `southbound.driver is none: ${counted(files, 'file')} in ${set.dir} would change and ${daemons.join(', ')} restart; see GET /v1/core/plan`,
  ]
}
