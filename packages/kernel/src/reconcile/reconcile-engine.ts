import type { Clock, Log, Reconciler, RunsOn, TraceParent } from '@steeple/contracts'
import type { Timers } from '../clock/deadline.ts'
import type { KernelMetrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createTraceBook } from './call.ts'
import type { WantedKey } from './cluster.ts'
import type { ControllerOptions } from './controller.ts'
import { Controller } from './controller.ts'
import type { Placement } from './leadership.ts'
import { inTerm, termSignal } from './leadership.ts'

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
  readonly placement?: Placement
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
  const { placement, tracing } = options
  const book = tracing && createTraceBook(tracing, () => options.clock.nowMs())
  const reconcilers = createReconcilerRegistry(placement, () => controllerOptions)
  const { held: controllers, isHere } = reconcilers
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
    problemOf: reconcilers.problemOf,
    attach: reconcilers.attach,
    pause: reconcilers.pause,
    follow: reconcilers.follow,
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
    close: reconcilers.close,
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

/** A reconciler, whose it is, and the queue in front of it. */
interface Held {
  readonly owner: string
  readonly controller: Controller
  readonly reconciler: Reconciler
  /** The term in which it was attached; undefined while it is not. */
  epoch: number | undefined
  /** Until its owner attaches again. */
  isPaused: boolean
}

/** The reconcilers of all owners, at work where they run now. */
interface ReconcilerRegistry {
  readonly held: ReadonlyMap<string, Held>
  isHere(held: Held): boolean
  /** See `ReconcileEngine`; these do as it says. */
  problemOf(owner: string, reconcilers: readonly Reconciler[]): string | undefined
  attach(owner: string, reconcilers: readonly Reconciler[]): Promise<void>
  pause(owner: string): Promise<void>
  follow(): Promise<void>
  close(): Promise<void>
}

/** Nobody has any. `placement`: what runs here; everything when absent. */
function createReconcilerRegistry(
  placement: Placement | undefined,
  options: () => ControllerOptions,
): ReconcilerRegistry {
  const controllers = new Map<string, Held>()
  let turn = Promise.resolve()
  let isClosed = false

  const controllersOf = (owner: string): readonly (readonly [string, Controller])[] =>
    [...controllers]
      .filter(([, held]) => held.owner === owner)
      .map(([resource, held]) => [resource, held.controller] as const)

  const attach = async (owner: string, reconcilers: readonly Reconciler[]): Promise<void> => {
    const problem = problemIn(controllers, owner, reconcilers)
    if (problem !== undefined) throw new TypeError(problem)
    await Promise.all(controllersOf(owner).map(([, controller]) => controller.detach()))
    const stay = new Set(reconcilers.map((reconciler) => reconciler.resource))
    for (const [resource] of controllersOf(owner)) if (!stay.has(resource)) controllers.delete(resource)
    if (isClosed) return
    for (const reconciler of reconcilers) {
      const controller =
        controllers.get(reconciler.resource)?.controller ?? new Controller(reconciler.resource, options())
      const held: Held = { owner, controller, reconciler, epoch: undefined, isPaused: false }
      controllers.set(reconciler.resource, held)
      engage(held)
    }
  }

  const isHere = ({ reconciler }: Held): boolean => placement?.runsHere(reconciler.runs ?? 'leader') !== false

  /** A term begins with a full look at all keys, whoever looked at them before. */
  const engage = (held: Held): void => {
    if (held.isPaused || !isHere(held)) return
    held.epoch = epochNow()
    held.controller.attach(inTermOf(placement, held.reconciler))
  }

  const epochNow = (): number => placement?.term()?.epoch ?? 0

  const follow = async (): Promise<void> => {
    for (const held of controllers.values()) {
      const isEngaged = held.epoch !== undefined
      const isSame = isHere(held) === isEngaged && (runsEverywhere(held) || held.epoch === epochNow())
      if (isClosed || isSame || held.isPaused || !(isHere(held) || isEngaged)) continue
      held.epoch = undefined
      await held.controller.detach()
      if (controllers.get(held.reconciler.resource) === held) engage(held)
    }
  }

  return {
    held: controllers,
    isHere,
    problemOf: (owner, reconcilers) => problemIn(controllers, owner, reconcilers),
    attach,
    pause: async (owner) => {
      for (const held of controllers.values()) if (held.owner === owner) held.isPaused = true
      await Promise.all(controllersOf(owner).map(([, controller]) => controller.detach()))
    },
    follow: () => {
      turn = turn.then(follow)
      return turn
    },
    close: async () => {
      isClosed = true
      await Promise.all([...controllers.values()].map(({ controller }) => controller.detach()))
      controllers.clear()
    },
  }
}

function problemIn(
  controllers: ReadonlyMap<string, Held>,
  owner: string,
  reconcilers: readonly Reconciler[],
): string | undefined {
  const seen = new Set<string>()
  for (const { resource } of reconcilers) {
    const other = controllers.get(resource)?.owner ?? owner
    if (other !== owner) return `the resource ${resource} is reconciled by ${other}`
    if (seen.has(resource)) return `the resource ${resource} is named twice`
    seen.add(resource)
  }
  return undefined
}

function runsEverywhere({ reconciler }: Held): boolean {
  return (reconciler.runs ?? 'leader') !== 'leader'
}

/** What is done in the name of a term ends with it. */
function inTermOf(placement: Placement | undefined, reconciler: Reconciler): Reconciler {
  const term = (reconciler.runs ?? 'leader') === 'leader' ? placement?.term() : undefined
  if (term === undefined || term.epoch === 0) return reconciler
  return {
    ...reconciler,
    keys: () => inTerm(term, () => reconciler.keys()),
    reconcile: (keys, signal) => inTerm(term, () => reconciler.reconcile(keys, termSignal(term, signal))),
  }
}
