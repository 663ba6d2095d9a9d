/** How long to wait after a failure: `firstMs` · 2ⁿ, at most `longestMs`. */
export interface Backoff {
  readonly firstMs: number
  readonly longestMs: number
}

/** Share of the delay that is random, so that what failed together does not come back together. */
const JITTER = 0.2

/** The delay after `failures` failures in a row (1 or more), less up to a fifth. `random` gives 0 to 1 (exclusive). */
export function backoffMs(
  { firstMs, longestMs }: Backoff,
  failures: number,
  random: () => number = Math.random,
): number {
  const fullMs = Math.min(longestMs, firstMs * 2 ** Math.min(failures - 1, 30))
  return Math.round(fullMs * (1 - JITTER * random()))
}

/**
 * Where periodic work and reconciling is done when several instances share a store. `leader`: by one of them at a time;
 * what it writes is refused once another one leads. `machine`: on the one that has the radio and the core
 * (`cluster.machine`). `each`: everywhere, for what an instance keeps in its own memory or files.
 */
export type RunsOn = 'leader' | 'machine' | 'each'

/**
 * What one reconcile step found of a key. `pending`: look again after so long. `failed`: as a throw, for this key alone.
 * `terminal`: wait until somebody asks for the key again.
 */
export type Outcome =
  | { readonly state: 'converged' }
  | { readonly state: 'pending'; readonly afterMs: number; readonly reason: string }
  | { readonly state: 'failed'; readonly reason: string }
  | { readonly state: 'terminal'; readonly reason: string }

/** Level-based: gets keys, reads desired and observed state itself, does at most one step each, says when to look again. */
export interface Reconciler {
  /** e.g. `sim`, `core_config`; unique over all plugins. */
  readonly resource: string
  /** Which instance reconciles it, of those that share a store; the leader when absent. */
  readonly runs?: RunsOn
  /** Full look at all keys, with jitter, to catch drift. */
  readonly resyncMs: number
  /** At most so many keys per call; 1 when absent. */
  readonly batch?: number
  /** Bound on one call; 60 s when absent. */
  readonly timeoutMs?: number
  /** How long a key waits after a throw and after `failed`, longer each time in a row; 1 s to 5 min when absent. */
  readonly backoff?: Backoff
  /** Calls at a time; 1 when absent. Two calls never have a key in common. */
  readonly concurrency?: number
  /**
   * Calls at a time for urgent keys, apart from the others, so that neither waits behind the other. None when absent: then
   * urgent keys come first among all.
   */
  readonly urgentConcurrency?: number
  /** At most so many calls begin in a second, urgent ones apart; what comes meanwhile goes together. No bound when absent. */
  readonly callsPerS?: number
  /**
   * While what it reaches is away: how long nothing can be done for any key yet, ms; 0 when one key may try whether it is back.
   * Undefined while it is there. Asked before each call: until then none begins, and keys keep their places. Never away when absent.
   */
  readonly restMs?: () => number | undefined
  /** Every key that exists. Called at start and at each resync. */
  keys(): Promise<readonly string[]>
  /**
   * One outcome per key, or one for all of them; a key without one counts as converged. A throw counts for all keys of
   * the call. One log line per fault that lasts is the kernel's.
   */
  reconcile(keys: readonly string[], signal: AbortSignal): Promise<Outcome | ReadonlyMap<string, Outcome>>
}
