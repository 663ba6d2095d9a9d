import { type Backoff, backoffMs, type Outcome, type Reconciler } from '@steeple/contracts'
import { within } from '../clock/deadline.ts'
import { abortCall, type Call, type CallResult, createCall, loggedKeys, runCall } from './call.ts'
import type { ControllerOptions } from './controller-options.ts'
import { KeyQueue } from './key-queue.ts'

/** After a throw, and between listings that fail, when the reconciler names none. */
const BACKOFF: Backoff = { firstMs: 1_000, longestMs: 300_000 }
/** Bound on one listing of the keys. */
const LIST_BOUND_MS = 60_000
/** Resyncs come at `resyncMs` ± 10 %. */
const RESYNC_JITTER = 0.1
/** The least `afterMs` of a pending outcome: a hook that says 0 must not keep the processor busy. */
const LEAST_PENDING_MS = 50
const NEVER = Number.POSITIVE_INFINITY

/**
 * The queue of a resource and the running calls of its reconciler.
 *
 * Level-triggered: a key is in the queue at most once, and a key that is asked for while it is being worked on is
 * looked at again afterwards. The reconciler behind it may be exchanged; keys that wait stay.
 */
export class Controller {
  readonly #resource: string
  readonly #options: ControllerOptions
  readonly #queue = new KeyQueue()
  readonly #failures = new Map<string, number>()
  readonly #terminal = new Set<string>()
  readonly #calls = new Set<Call>()
  #reconciler: Reconciler | undefined
  #isListing = false
  #listFailures = 0
  #nextListMs = 0
  /** When the next call that is not urgent may begin. */
  #nextCallMs = 0
  #timer: unknown
  #isWaking = false
  /** The last fault: one that lasts gets one line. */
  #fault: string | undefined
  /** Keys of the first listing that were not looked at yet; undefined before that listing. */
  #firstPass: Set<string> | undefined

  constructor(resource: string, options: ControllerOptions) {
    this.#resource = resource
    this.#options = options
  }

  /** Whether every key of the first listing was looked at once, or cannot be yet. Stays true when the reconciler is exchanged. */
  get isPassed(): boolean {
    return this.#firstPass?.size === 0
  }

  /** Keys that wait or are being worked on. */
  get depth(): number {
    return [...this.#calls].reduce((sum, { keys }) => sum + keys.size, this.#queue.size)
  }

  /** Calls that run. */
  get active(): number {
    return this.#calls.size
  }

  /** Whether nothing runs and nothing is due now. */
  get isIdle(): boolean {
    const isBusy = this.#isListing || this.#isWaking || this.#calls.size > 0
    const isAway = (this.#reconciler?.restMs?.() ?? 0) > 0
    const dueMs = isAway ? NEVER : this.#queue.nextDueMs()
    return !isBusy && Math.min(this.#nextListMs, dueMs) > this.#now()
  }

  /** Asks for a look at a key soon. */
  enqueue(key: string, isUrgent: boolean): void {
    this.#terminal.delete(key)
    const call = this.#callOf(key)
    if (call === undefined) this.#queue.add(key, this.#now(), isUrgent)
    else call.again.set(key, isUrgent || call.again.get(key) === true)
    this.#wakeSoon()
  }

  /** Begins to work with `reconciler`: lists its keys at once. Detach the one before first. */
  attach(reconciler: Reconciler): void {
    this.#reconciler = reconciler
    this.#nextListMs = this.#now()
    this.#nextCallMs = 0
    this.#listFailures = 0
    this.#wakeSoon()
  }

  /** Aborts the running calls and waits for their end, for so long as that may take. Keys stay in the queue. */
  async detach(): Promise<void> {
    this.#reconciler = undefined
    this.#options.timers.clearTimeout(this.#timer)
    this.#timer = undefined
    const ended = [...this.#calls].map(async (call) => {
      if (!(await abortCall(call, this.#resource, this.#options))) this.#requeue(call)
    })
    await Promise.all(ended)
  }

  #now(): number {
    return this.#options.clock.monotonicMs()
  }

  #callOf(key: string): Call | undefined {
    for (const call of this.#calls) if (call.keys.has(key)) return call
    return undefined
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
    if (reconciler === undefined) return
    const now = this.#now()
    if (this.#nextListMs <= now && !this.#isListing) void this.#list(reconciler)
    const restMs = reconciler.restMs?.()
    if (restMs === undefined) this.#beginDue(reconciler, now)
    else if (restMs > 0) this.#rest(restMs)
    else this.#goAhead(reconciler, now)
  }

  /** Looks again when it may be tried. What cannot be looked at until then keeps nobody from being ready. */
  #rest(restMs: number): void {
    this.#firstPass?.clear()
    const listMs = this.#isListing ? NEVER : this.#nextListMs - this.#now()
    this.#timer = this.#options.timers.setTimeout(() => this.#wake(), Math.min(restMs, listMs))
  }

  /** Tries with one key whether what is reached is back. */
  #goAhead(reconciler: Reconciler, now: number): void {
    const next = this.#calls.size > 0 ? undefined : this.#queue.takeFirst(now)
    if (next !== undefined) this.#begin(reconciler, [next.key], next.isUrgent)
    this.#sleep(now, false)
  }

  #beginDue(reconciler: Reconciler, now: number): void {
    const { batch = 1, concurrency = 1, urgentConcurrency = 0, callsPerS } = reconciler
    const size = Math.max(1, batch)
    /** Calls that take the room of such a key. */
    const running = (isUrgent: boolean): number =>
      [...this.#calls].filter((call) => urgentConcurrency === 0 || call.isUrgent === isUrgent).length
    while (running(true) < (urgentConcurrency || concurrency)) {
      const keys = this.#queue.urgent.take(now, size)
      if (keys.length === 0) break
      this.#begin(reconciler, keys, true)
    }
    const hasRoom = (): boolean => running(false) < concurrency
    while (hasRoom() && this.#nextCallMs <= now) {
      const keys = this.#queue.other.take(now, size)
      if (keys.length === 0) break
      if (callsPerS !== undefined) this.#nextCallMs = now + 1_000 / callsPerS
      this.#begin(reconciler, keys, false)
    }
    this.#sleep(now, hasRoom())
  }

  /** Sets the timer for what comes next by itself: the end of a call wakes anyway. */
  #sleep(now: number, hasRoom: boolean): void {
    const urgentMs = this.#queue.urgent.nextDueMs() ?? NEVER
    const otherMs = this.#queue.other.nextDueMs() ?? NEVER
    const nextMs = Math.min(
      this.#isListing ? NEVER : this.#nextListMs,
      urgentMs > now ? urgentMs : NEVER,
      otherMs > now || hasRoom ? Math.max(otherMs, this.#nextCallMs) : NEVER,
    )
    if (nextMs === NEVER) return
    this.#timer = this.#options.timers.setTimeout(() => this.#wake(), nextMs - now)
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
      const retryMs = backoffMs(reconciler.backoff ?? BACKOFF, this.#listFailures, random)
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
    for (const key of listed) {
      const isKnown = this.#queue.has(key) || this.#terminal.has(key) || this.#callOf(key) !== undefined
      if (!isKnown) this.#queue.add(key, now, false)
    }
    // One that was asked for before this listing and given up is not looked at again.
    this.#firstPass ??= new Set([...listed].filter((key) => !this.#terminal.has(key)))
  }

  #begin(reconciler: Reconciler, keys: readonly string[], isUrgent: boolean): void {
    const call = createCall(keys, isUrgent)
    this.#calls.add(call)
    call.done = this.#run(reconciler, call)
  }

  async #run(reconciler: Reconciler, call: Call): Promise<void> {
    const result = await runCall(reconciler, call, this.#options)
    if (call.isAbandoned) return
    this.#options.timed(this.#resource, result.facts.tookMs / 1000)
    this.#calls.delete(call)
    this.#settle(reconciler, call, result)
    this.#wake()
  }

  #settle(reconciler: Reconciler, call: Call, result: CallResult): void {
    if (this.#reconciler !== reconciler && result.outcomes === undefined) {
      this.#requeue(call)
      return
    }
    if (result.outcomes === undefined || call.isTimedOut) this.#failed(reconciler, call, result)
    else this.#ended(reconciler, call, result.outcomes, result.facts)
    const now = this.#now()
    for (const [key, isUrgent] of call.again) {
      this.#terminal.delete(key)
      this.#queue.add(key, now, isUrgent)
    }
  }

  #requeue(call: Call): void {
    const now = this.#now()
    this.#calls.delete(call)
    for (const key of call.keys) this.#queue.add(key, now, call.isUrgent || call.again.get(key) === true)
  }

  /** Has a key come again with back-off; gives the delay. */
  #retry({ backoff = BACKOFF }: Reconciler, call: Call, key: string): number {
    const failures = (this.#failures.get(key) ?? 0) + 1
    this.#failures.set(key, failures)
    const retryMs = backoffMs(backoff, failures, this.#options.random)
    this.#queue.add(key, this.#now() + retryMs, call.isUrgent)
    return retryMs
  }

  #failed(reconciler: Reconciler, call: Call, { error, facts }: CallResult): void {
    const { log, counted } = this.#options
    const result = call.isTimedOut ? 'timeout' : 'error'
    let retryMs = 0
    for (const key of call.keys) {
      retryMs = this.#retry(reconciler, call, key)
      this.#firstPass?.delete(key)
      counted(this.#resource, result)
    }
    const fault = `${result} ${error instanceof Error ? error.message : String(error)}`
    const level = fault === this.#fault ? 'debug' : 'warn'
    this.#fault = fault
    log[level]({ ...facts, keys: loggedKeys(call), result, retryMs, err: error }, 'reconcile failed')
  }

  #ended(
    reconciler: Reconciler,
    call: Call,
    outcomes: Outcome | ReadonlyMap<string, Outcome>,
    facts: object,
  ): void {
    const { log, counted } = this.#options
    for (const key of call.keys) {
      const outcome = 'state' in outcomes ? outcomes : (outcomes.get(key) ?? { state: 'converged' })
      this.#firstPass?.delete(key)
      counted(this.#resource, outcome.state)
      if (outcome.state === 'failed') {
        const retryMs = this.#retry(reconciler, call, key)
        log.debug({ ...facts, key, retryMs, reason: outcome.reason }, 'reconcile of a key failed')
        continue
      }
      this.#failures.delete(key)
      if (outcome.state === 'pending') {
        const afterMs = Math.max(LEAST_PENDING_MS, Number.isFinite(outcome.afterMs) ? outcome.afterMs : 0)
        this.#queue.add(key, this.#now() + afterMs, call.isUrgent)
        log.debug({ ...facts, key, afterMs, reason: outcome.reason }, 'reconcile pending')
      } else if (outcome.state === 'terminal') {
        this.#terminal.add(key)
        log.error(
          { ...facts, key, reason: outcome.reason },
          'reconcile gave up until the desired state changes',
        )
      }
    }
    this.#fault = undefined
    log.debug(facts, 'reconciled')
  }
}
