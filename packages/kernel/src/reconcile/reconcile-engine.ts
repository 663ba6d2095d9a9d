import {
  type Clock,
  createTurns,
  type Log,
  type Reconciler,
  type RunsOn,
  type TraceParent,
} from '@steeple/contracts'
import type { Timers } from '../clock/deadline.ts'
import type { KernelMetrics } from '../telemetry/metrics.ts'
import type { Tracing } from '../telemetry/tracing.ts'
import { createTraceBook, type TraceBook } from './call.ts'
import type { WantedKey } from './cluster.ts'
import { Controller, type ControllerOptions } from './controller.ts'
import { inTerm, type Placement, type Term, termSignal } from './leadership.ts'

/** What the engine needs. `random` gives 0 (inclusive) to 1 (exclusive). */
interface ReconcileOptions {
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

/** Runs the reconcilers of the kernel and of every live plugin. It costs nothing while no key is due. */
export class ReconcileEngine {
  readonly #options: ReconcileOptions
  readonly #controllerOptions: ControllerOptions
  readonly #book: TraceBook | undefined
  readonly #held = new Map<string, Held>()
  readonly #turns = createTurns()
  #hasBegun = false
  #wasReady = false
  #isClosed = false

  constructor(options: ReconcileOptions) {
    const { tracing, clock } = options
    this.#options = options
    this.#book = tracing && createTraceBook(tracing, () => clock.nowMs())
    this.#controllerOptions = { ...measured(options, () => this.#held), traces: this.#book }
  }

  /** Why `owner` may not bring these reconcilers: a resource is another's or named twice. Undefined when it may. */
  problemOf(owner: string, reconcilers: readonly Reconciler[]): string | undefined {
    const seen = new Set<string>()
    for (const { resource } of reconcilers) {
      const other = this.#held.get(resource)?.owner ?? owner
      if (other !== owner) return `the resource ${resource} is reconciled by ${other}`
      if (seen.has(resource)) return `the resource ${resource} is named twice`
      seen.add(resource)
    }
    return undefined
  }

  /**
   * Makes these the reconcilers of `owner`, in place of those it had. A resource that stays keeps its waiting keys;
   * the call of the copy before ends first. Each new one lists its keys at once.
   */
  async attach(owner: string, reconcilers: readonly Reconciler[]): Promise<void> {
    const problem = this.problemOf(owner, reconcilers)
    if (problem !== undefined) throw new TypeError(problem)
    const before = this.#of(owner)
    await Promise.all(before.map(({ controller }) => controller.detach()))
    const stay = new Set(reconcilers.map(({ resource }) => resource))
    for (const { reconciler } of before)
      if (!stay.has(reconciler.resource)) this.#held.delete(reconciler.resource)
    if (this.#isClosed) return
    for (const reconciler of reconcilers) {
      const { resource } = reconciler
      const controller =
        this.#held.get(resource)?.controller ?? new Controller(resource, this.#controllerOptions)
      const held: Held = { owner, controller, reconciler, epoch: undefined, isPaused: false }
      this.#held.set(resource, held)
      this.#engage(held)
    }
  }

  /** Ends the running calls of `owner` and starts none until `attach`. Waiting keys stay. */
  async pause(owner: string): Promise<void> {
    const paused = this.#of(owner)
    for (const held of paused) held.isPaused = true
    await Promise.all(paused.map(({ controller }) => controller.detach()))
  }

  /** Begins with what runs here now and ends what does no longer: the leader is another one. */
  follow(): Promise<void> {
    return this.#turns(async () => {
      for (const held of this.#held.values()) {
        const isEngaged = held.epoch !== undefined
        const isSame =
          this.#isHere(held) === isEngaged && (runsOf(held) !== 'leader' || held.epoch === this.#epoch())
        if (this.#isClosed || isSame || held.isPaused || !(this.#isHere(held) || isEngaged)) continue
        held.epoch = undefined
        await held.controller.detach()
        if (this.#held.get(held.reconciler.resource) === held) this.#engage(held)
      }
    })
  }

  /** Where a resource is reconciled; undefined when nobody here knows it. */
  placeOf(resource: string): RunsOn | undefined {
    const held = this.#held.get(resource)
    return held && runsOf(held)
  }

  /** Asks for a look at a key soon, in a trace. A resource that nobody reconciles: nothing happens, its first listing finds it. */
  enqueue = (resource: string, key: string, isUrgent = false, trace?: TraceParent): void => {
    const held = this.#held.get(resource)
    // Whoever reconciles it goes on with the trace; nobody here would take it out of the book.
    if (held !== undefined && !this.#isHere(held))
      this.#options.elsewhere?.({ resource, key, isUrgent, trace })
    else this.enqueueHere(resource, key, isUrgent, trace)
  }

  /** As `enqueue`, of a key that was left to the other instances already. */
  enqueueHere = (resource: string, key: string, isUrgent: boolean, trace: TraceParent | undefined): void => {
    const held = this.#held.get(resource)
    if (held === undefined || !this.#isHere(held)) return
    if (trace !== undefined) this.#book?.add(resource, key, trace)
    held.controller.enqueue(key, isUrgent)
  }

  /** All reconcilers of the start are attached: from now on `isReady` can become true. */
  begin(): void {
    this.#hasBegun = true
  }

  /** Whether the first pass of every reconciler of the start is over. Once true it stays so. */
  get isReady(): boolean {
    this.#wasReady ||= this.#hasBegun && this.#here().every(({ controller }) => controller.isPassed)
    return this.#wasReady
  }

  /** Whether no reconciler works and no key is due now. */
  get isIdle(): boolean {
    return this.#here().every(({ controller }) => controller.isIdle)
  }

  /** Aborts and awaits every call; attaches nothing afterwards. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#held.values()].map(({ controller }) => controller.detach()))
    this.#held.clear()
  }

  #of(owner: string): readonly Held[] {
    return [...this.#held.values()].filter((held) => held.owner === owner)
  }

  #here(): readonly Held[] {
    return [...this.#held.values()].filter((held) => this.#isHere(held))
  }

  #isHere(held: Held): boolean {
    return this.#options.placement?.runsHere(runsOf(held)) !== false
  }

  #epoch(): number {
    return this.#options.placement?.term()?.epoch ?? 0
  }

  /** A term begins with a full look at all keys, whoever looked at them before. */
  #engage(held: Held): void {
    if (held.isPaused || !this.#isHere(held)) return
    held.epoch = this.#epoch()
    const term = runsOf(held) === 'leader' ? this.#options.placement?.term() : undefined
    held.controller.attach(term === undefined ? held.reconciler : endingWith(term, held.reconciler))
  }
}

function runsOf({ reconciler }: Held): RunsOn {
  return reconciler.runs ?? 'leader'
}

/** What is done in the name of a term ends with it. */
function endingWith(term: Term, reconciler: Reconciler): Reconciler {
  if (term.epoch === 0) return reconciler
  return {
    ...reconciler,
    keys: () => inTerm(term, () => reconciler.keys()),
    reconcile: (keys, signal) => inTerm(term, () => reconciler.reconcile(keys, termSignal(term, signal))),
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
