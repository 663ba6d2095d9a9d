import type { Timers } from '@steeple/clock'
import type { Clock, Log, Reconciler, RunsOn, TraceParent } from '@steeple/contracts'
import type { KernelMetrics, Tracing } from '@steeple/telemetry'
import { createTraceBook } from './call.ts'
import type { Controller } from './controller.ts'
import type { ControllerOptions } from './controller-options.ts'
import type { Places } from './places.ts'
import { createRoster } from './roster.ts'
import type { WantedKey } from './wanted-keys.ts'

/** Runs the reconcilers of the kernel and of every live plugin. */
export interface ReconcileEngine {
  /** Why `owner` may not bring these reconcilers: a resource is another's or named twice. Undefined when it may. */
  problemOf(owner: string, reconcilers: readonly Reconciler[]): string | undefined
  /**
   * Makes these the reconcilers of `owner`, in place of those it had. A resource that stays keeps its waiting keys;
   * the call of the copy before ends first. Each new one lists its keys at once.
   */
  attach(owner: string, reconcilers: readonly Reconciler[]): Promise<void>
  /** Begins with what runs here now and ends what does no longer: the leader is another one. */
  follow(): Promise<void>
  /** Where a resource is reconciled; undefined when nobody here knows it. */
  placeOf(resource: string): RunsOn | undefined
  /** Ends the running calls of `owner` and starts none until `attach`. Waiting keys stay. */
  pause(owner: string): Promise<void>
  /** Asks for a look at a key soon, in a trace. A resource that nobody reconciles: nothing happens, its first listing finds it. */
  enqueue(resource: string, key: string, isUrgent?: boolean, trace?: TraceParent): void
  /** As `enqueue`, of a key that was left to the other instances already. */
  enqueueHere(resource: string, key: string, isUrgent: boolean, trace: TraceParent | undefined): void
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
  /** What runs here; everything when absent. */
  readonly places?: Places
  /** Told of a key that another instance reconciles. */
  readonly elsewhere?: (key: WantedKey) => void
  readonly random?: () => number
  /** Whatever a mutation makes dirty is reconciled as a part of its trace. */
  readonly tracing?: Tracing
}

/** Seconds. A step that asks a core or an HSS takes tens of milliseconds; the bound on a call is a minute. */
const DURATION_BUCKETS = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const

/** Makes an engine without reconcilers. It costs nothing while no key is due. */
export function createReconcileEngine(options: ReconcileOptions): ReconcileEngine {
  const { places, tracing } = options
  const book = tracing && createTraceBook(tracing, () => options.clock.nowMs())
  const roster = createRoster(places, () => controllerOptions)
  const { held: controllers, isHere } = roster
  const controllerOptions = { ...measured(options, () => controllers), traces: book }
  let hasBegun = false
  let isLatched = false
  const enqueuing =
    (elsewhere?: ReconcileOptions['elsewhere']): ReconcileEngine['enqueue'] =>
    (resource, key, isUrgent = false, trace = undefined) => {
      const held = controllers.get(resource)
      if (held === undefined) return
      if (!isHere(held)) {
        // Whoever reconciles it goes on with the trace; nobody here would take it out of the book.
        elsewhere?.({ resource, key, isUrgent, trace })
        return
      }
      if (trace !== undefined) book?.add(resource, key, trace)
      held.controller.enqueue(key, isUrgent)
    }

  return {
    problemOf: roster.problemOf,
    attach: roster.attach,
    pause: roster.pause,
    follow: roster.follow,
    placeOf: (resource) => {
      const held = controllers.get(resource)
      return held === undefined ? undefined : (held.reconciler.runs ?? 'leader')
    },
    enqueue: enqueuing(options.elsewhere),
    enqueueHere: enqueuing(),
    begin: () => {
      hasBegun = true
    },
    get isReady() {
      isLatched ||=
        hasBegun && [...controllers.values()].every((held) => !isHere(held) || held.controller.isPassed)
      return isLatched
    },
    get isIdle() {
      return [...controllers.values()].every((held) => !isHere(held) || held.controller.isIdle)
    },
    close: roster.close,
  }
}

function measured(
  { clock, timers, log, metrics, random = Math.random }: ReconcileOptions,
  controllers: () => ReadonlyMap<string, { readonly controller: Controller }>,
): ControllerOptions {
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
    for (const [resource, { controller }] of controllers()) set(controller.depth, { resource })
  })
  metrics.observed('svc_reconcile_active_workers', 'Calls that run', ['resource'], (set) => {
    for (const [resource, { controller }] of controllers()) set(controller.active, { resource })
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
