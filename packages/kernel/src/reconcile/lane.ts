import { randomBytes } from 'node:crypto'
import type { Clock, Log, Outcome, Reconciler } from '@steeple/contracts'
import { within } from '../deadline.ts'
import type { Timers } from '../timers.ts'
import { backoffMs, RECONCILE_BACKOFF } from './backoff.ts'
import { createDueQueue, type DueQueue } from './due-queue.ts'

/** How one key of a call ended. */
export type ReconcileResult = Outcome['state'] | 'error' | 'timeout'

/** What a lane needs. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface LaneOptions {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly random: () => number
  /** Told once per key and call. */
  readonly counted: (resource: string, result: ReconcileResult) => void
  /** Told once per call. */
  readonly timed: (resource: string, seconds: number) => void
}

/** Bound on one call when the reconciler names none. */
const CALL_BOUND_MS = 60_000
/** Bound on one listing of the keys. */
const LIST_BOUND_MS = 60_000
/** How long an aborted call may take to end before the lane goes on without it. */
const ABORT_BOUND_MS = 5_000
/** Resyncs come at `resyncMs` ± 10 %. */
const RESYNC_JITTER = 0.1
/** The least `afterMs` of a pending outcome: a hook that says 0 must not keep the processor busy. */
const LEAST_PENDING_MS = 50
/** How many keys a log line names. */
const LOGGED_KEYS = 5

interface Call {
  readonly keys: readonly string[]
  readonly abort: AbortController
  /** Keys that somebody asked for since the call began. */
  readonly again: Set<string>
  isTimedOut: boolean
  isAbandoned: boolean
  done: Promise<void>
}

/**
 * The queue and the one running call of a resource.
 *
 * Level-triggered: a key is in the queue at most once, and a key that is asked for while it is being worked on is
 * looked at again afterwards. The reconciler behind it may be exchanged; keys that wait stay.
 */
export class Lane {
  readonly #resource: string
  readonly #options: LaneOptions
  readonly #queue: DueQueue = createDueQueue()
  readonly #failures = new Map<string, number>()
  readonly #terminal = new Set<string>()
  #reconciler: Reconciler | undefined
  #call: Call | undefined
  #isListing = false
  #listFailures = 0
  #nextListMs = 0
  #timer: unknown
  #isWaking = false
  /** Keys of the first listing that were not looked at yet; undefined before that listing. */
  #firstPass: Set<string> | undefined

  constructor(resource: string, options: LaneOptions) {
    this.#resource = resource
    this.#options = options
  }

  /** Whether every key of the first listing was looked at once. Stays true when the reconciler is exchanged. */
  get isPassed(): boolean {
    return this.#firstPass?.size === 0
  }

  /** Keys that wait or are being worked on. */
  get depth(): number {
    return this.#queue.size + (this.#call?.keys.length ?? 0)
  }

  /** Whether nothing runs and nothing is due now. */
  get isIdle(): boolean {
    const isBusy = this.#isListing || this.#isWaking || this.#call !== undefined
    return (
      !isBusy && Math.min(this.#nextListMs, this.#queue.nextDueMs() ?? Number.POSITIVE_INFINITY) > this.#now()
    )
  }

  /** Asks for a look at a key soon. */
  enqueue(key: string): void {
    this.#terminal.delete(key)
    if (this.#call?.keys.includes(key) === true) this.#call.again.add(key)
    else this.#queue.add(key, this.#now())
    this.#wakeSoon()
  }

  /** Begins to work with `reconciler`: lists its keys at once. Detach the one before first. */
  attach(reconciler: Reconciler): void {
    this.#reconciler = reconciler
    this.#nextListMs = this.#now()
    this.#listFailures = 0
    this.#wakeSoon()
  }

  /** Aborts the running call and waits for its end, at most `ABORT_BOUND_MS`. Keys stay in the queue. */
  async detach(): Promise<void> {
    this.#reconciler = undefined
    this.#options.timers.clearTimeout(this.#timer)
    this.#timer = undefined
    const call = this.#call
    if (call === undefined) return
    call.abort.abort()
    try {
      await within(this.#options.timers, ABORT_BOUND_MS, 'the aborted call', async () => await call.done)
    } catch (error) {
      call.isAbandoned = true
      this.#options.log.error(
        { resource: this.#resource, err: error },
        'reconcile call ignores its abort signal',
      )
      this.#requeue(call)
    }
  }

  #now(): number {
    return this.#options.clock.monotonicMs()
  }

  /** Collects what is enqueued in one go before a batch is taken. */
  #wakeSoon(): void {
    if (this.#isWaking) return
    this.#isWaking = true
    queueMicrotask(() => {
      this.#isWaking = false
      this.#wake()
    })
  }

  #wake(): void {
    const { timers } = this.#options
    timers.clearTimeout(this.#timer)
    this.#timer = undefined
    const reconciler = this.#reconciler
    if (reconciler === undefined || this.#call !== undefined || this.#isListing) return
    const now = this.#now()
    if (this.#nextListMs <= now) {
      void this.#list(reconciler)
      return
    }
    const keys = this.#queue.take(now, Math.max(1, reconciler.batch ?? 1))
    if (keys.length > 0) {
      this.#begin(reconciler, keys)
      return
    }
    const nextMs = Math.min(this.#nextListMs, this.#queue.nextDueMs() ?? Number.POSITIVE_INFINITY)
    this.#timer = timers.setTimeout(() => this.#wake(), nextMs - now)
  }

  async #list(reconciler: Reconciler): Promise<void> {
    const { timers, log, random } = this.#options
    this.#isListing = true
    try {
      const keys = await within(timers, LIST_BOUND_MS, 'the listing of keys', () => reconciler.keys())
      if (this.#reconciler === reconciler) this.#take(keys)
      this.#listFailures = 0
      this.#nextListMs =
        this.#now() + reconciler.resyncMs * (1 - RESYNC_JITTER + 2 * RESYNC_JITTER * random())
    } catch (error) {
      this.#listFailures += 1
      const retryMs = backoffMs(RECONCILE_BACKOFF, this.#listFailures, random)
      this.#nextListMs = this.#now() + retryMs
      log.warn({ resource: this.#resource, retryMs, err: error }, 'listing of reconcile keys failed')
    }
    this.#isListing = false
    // Another reconciler was attached meanwhile: it lists for itself.
    if (this.#reconciler !== reconciler) this.#nextListMs = this.#now()
    this.#wake()
  }

  #take(keys: readonly string[]): void {
    const listed = new Set(keys)
    const now = this.#now()
    for (const key of this.#terminal) if (!listed.has(key)) this.#terminal.delete(key)
    for (const key of listed) if (!this.#queue.has(key) && !this.#terminal.has(key)) this.#queue.add(key, now)
    this.#firstPass ??= listed
  }

  #begin(reconciler: Reconciler, keys: readonly string[]): void {
    const call: Call = {
      keys,
      abort: new AbortController(),
      again: new Set(),
      isTimedOut: false,
      isAbandoned: false,
      done: Promise.resolve(),
    }
    this.#call = call
    call.done = this.#run(reconciler, call)
  }

  async #run(reconciler: Reconciler, call: Call): Promise<void> {
    const { timers, clock, timed, log } = this.#options
    const reconcileId = randomBytes(4).toString('hex')
    const facts = { reconcileId, resource: this.#resource, count: call.keys.length }
    const startedMs = clock.monotonicMs()
    const timer = timers.setTimeout(() => {
      call.isTimedOut = true
      call.abort.abort()
      log.error({ ...facts, keys: call.keys.slice(0, LOGGED_KEYS) }, 'reconcile call timed out')
    }, reconciler.timeoutMs ?? CALL_BOUND_MS)
    const result = await this.#attempt(reconciler, call)
    timers.clearTimeout(timer)
    if (call.isAbandoned) return
    const tookMs = clock.monotonicMs() - startedMs
    timed(this.#resource, tookMs / 1000)
    this.#settle(reconciler, call, result, { ...facts, tookMs })
    this.#call = undefined
    this.#wake()
  }

  /** The outcomes, or what was thrown. */
  async #attempt(
    reconciler: Reconciler,
    call: Call,
  ): Promise<{ readonly outcomes: ReadonlyMap<string, Outcome> } | { readonly error: unknown }> {
    try {
      const outcomes = await reconciler.reconcile(call.keys, call.abort.signal)
      return outcomes instanceof Map
        ? { outcomes }
        : { error: new TypeError('reconcile gave no map of outcomes') }
    } catch (error) {
      return { error }
    }
  }

  #settle(
    reconciler: Reconciler,
    call: Call,
    result: { readonly outcomes: ReadonlyMap<string, Outcome> } | { readonly error: unknown },
    facts: object,
  ): void {
    const isAborted = call.abort.signal.aborted && !call.isTimedOut
    if (isAborted && this.#reconciler !== reconciler && 'error' in result) {
      this.#requeue(call)
      return
    }
    if ('error' in result || call.isTimedOut)
      this.#failed(call, 'error' in result ? result.error : undefined, facts)
    else this.#ended(call, result.outcomes, facts)
    const now = this.#now()
    for (const key of call.again) {
      this.#terminal.delete(key)
      this.#queue.add(key, now)
    }
  }

  #requeue(call: Call): void {
    const now = this.#now()
    for (const key of call.keys) this.#queue.add(key, now)
    if (this.#call === call) this.#call = undefined
  }

  #failed(call: Call, error: unknown, facts: object): void {
    const { log, random, counted } = this.#options
    const result = call.isTimedOut ? 'timeout' : 'error'
    const now = this.#now()
    let retryMs = 0
    for (const key of call.keys) {
      const failures = (this.#failures.get(key) ?? 0) + 1
      this.#failures.set(key, failures)
      retryMs = backoffMs(RECONCILE_BACKOFF, failures, random)
      this.#queue.add(key, now + retryMs)
      this.#seen(key)
      counted(this.#resource, result)
    }
    log.warn(
      { ...facts, keys: call.keys.slice(0, LOGGED_KEYS), result, retryMs, err: error },
      'reconcile failed',
    )
  }

  #ended(call: Call, outcomes: ReadonlyMap<string, Outcome>, facts: object): void {
    const { log, counted } = this.#options
    const now = this.#now()
    for (const key of call.keys) {
      const outcome = outcomes.get(key) ?? { state: 'converged' }
      this.#failures.delete(key)
      this.#seen(key)
      counted(this.#resource, outcome.state)
      if (outcome.state === 'pending') {
        const afterMs = Math.max(LEAST_PENDING_MS, Number.isFinite(outcome.afterMs) ? outcome.afterMs : 0)
        this.#queue.add(key, now + afterMs)
        log.debug({ ...facts, key, afterMs, reason: outcome.reason }, 'reconcile pending')
      } else if (outcome.state === 'terminal') {
        this.#terminal.add(key)
        log.error(
          { ...facts, key, reason: outcome.reason },
          'reconcile gave up until the desired state changes',
        )
      }
    }
    log.debug(facts, 'reconciled')
  }

  #seen(key: string): void {
    this.#firstPass?.delete(key)
  }
}
