import type { Clock, Log, Reconciler } from '@steeple/contracts'
import type { KernelMetrics } from '../metrics.ts'
import type { Timers } from '../timers.ts'
import { Lane, type LaneOptions } from './lane.ts'

/** Runs the reconcilers of the kernel and of every live plugin. */
export interface ReconcileEngine {
  /** Why `owner` may not bring these reconcilers: a resource is another's or named twice. Undefined when it may. */
  problemOf(owner: string, reconcilers: readonly Reconciler[]): string | undefined
  /**
   * Makes these the reconcilers of `owner`, in place of those it had. A resource that stays keeps its waiting keys;
   * the call of the copy before ends first. Each new one lists its keys at once.
   */
  attach(owner: string, reconcilers: readonly Reconciler[]): Promise<void>
  /** Ends the running calls of `owner` and starts none until `attach`. Waiting keys stay. */
  pause(owner: string): Promise<void>
  /** Asks for a look at a key soon. A resource that nobody reconciles: nothing happens, its first listing finds it. */
  enqueue(resource: string, key: string): void
  /** All reconcilers of the start are attached: from now on `isReady` can become true. */
  begin(): void
  /** Whether the first pass of every reconciler of the start is over. Once true it stays so. */
  readonly isReady: boolean
  /** Whether no reconciler works and no key is due now. */
  readonly isIdle: boolean
  /** Aborts and awaits every call; attaches nothing afterwards. */
  close(): Promise<void>
}

/** What the engine needs. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface ReconcileOptions {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly metrics: KernelMetrics
  readonly random?: () => number
}

/** Seconds. A step that asks a core or an HSS takes tens of milliseconds; the bound on a call is a minute. */
const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const

/** Makes an engine without reconcilers. It costs nothing while no key is due. */
export function createReconcileEngine(options: ReconcileOptions): ReconcileEngine {
  const lanes = new Map<string, { readonly owner: string; readonly lane: Lane }>()
  const laneOptions = measured(options, () => lanes)
  let hasBegun = false
  let isLatched = false
  let isClosed = false

  const lanesOf = (owner: string): readonly (readonly [string, Lane])[] =>
    [...lanes]
      .filter(([, held]) => held.owner === owner)
      .map(([resource, held]) => [resource, held.lane] as const)

  const problemOf = (owner: string, reconcilers: readonly Reconciler[]): string | undefined => {
    const seen = new Set<string>()
    for (const { resource } of reconcilers) {
      const other = lanes.get(resource)?.owner ?? owner
      if (other !== owner) return `the resource ${resource} is reconciled by ${other}`
      if (seen.has(resource)) return `the resource ${resource} is named twice`
      seen.add(resource)
    }
    return undefined
  }

  const attach = async (owner: string, reconcilers: readonly Reconciler[]): Promise<void> => {
    const problem = problemOf(owner, reconcilers)
    if (problem !== undefined) throw new TypeError(problem)
    await Promise.all(lanesOf(owner).map(([, lane]) => lane.detach()))
    const stay = new Set(reconcilers.map((reconciler) => reconciler.resource))
    for (const [resource] of lanesOf(owner)) if (!stay.has(resource)) lanes.delete(resource)
    if (isClosed) return
    for (const reconciler of reconcilers) {
      const lane = lanes.get(reconciler.resource)?.lane ?? new Lane(reconciler.resource, laneOptions)
      lanes.set(reconciler.resource, { owner, lane })
      lane.attach(reconciler)
    }
  }

  return {
    problemOf,
    attach,
    pause: async (owner) => {
      await Promise.all(lanesOf(owner).map(([, lane]) => lane.detach()))
    },
    enqueue: (resource, key) => lanes.get(resource)?.lane.enqueue(key),
    begin: () => {
      hasBegun = true
    },
    get isReady() {
      isLatched ||= hasBegun && [...lanes.values()].every(({ lane }) => lane.isPassed)
      return isLatched
    },
    get isIdle() {
      return [...lanes.values()].every(({ lane }) => lane.isIdle)
    },
    close: async () => {
      isClosed = true
      await Promise.all([...lanes.values()].map(({ lane }) => lane.detach()))
      lanes.clear()
    },
  }
}

function measured(
  { clock, timers, log, metrics, random = Math.random }: ReconcileOptions,
  lanes: () => ReadonlyMap<string, { readonly lane: Lane }>,
): LaneOptions {
  const total = metrics.counter('svc_reconcile_total', 'Keys looked at, by how it ended', [
    'resource',
    'result',
  ])
  const seconds = metrics.histogram(
    'svc_reconcile_duration_seconds',
    'Duration of one call',
    DURATION_BUCKETS,
    ['resource'],
  )
  metrics.observed('svc_reconcile_queue_depth', 'Keys that wait or are worked on', ['resource'], (set) => {
    for (const [resource, { lane }] of lanes()) set(lane.depth, { resource })
  })
  return {
    clock,
    timers,
    log,
    random,
    counted: (resource, result) => total.inc({ resource, result }),
    timed: (resource, value) => seconds.observe(value, { resource }),
  }
}
