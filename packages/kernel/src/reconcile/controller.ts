import {
  type Backoff,
  backoffMs,
  type Clock,
  type Log,
  messageOf,
  type Outcome,
  type Reconciler,
} from '@steeple/contracts'
import { type Timers, within } from '../clock/deadline.ts'
import {
  abortCall,
  type Call,
  type CallResult,
  createCall,
  loggedKeys,
  runCall,
  type TraceBook,
} from './call.ts'

/** Keys that wait, the urgent ones apart. A key is in one of both queues at most. */
class KeyQueue {
  readonly urgent: DueQueue = createDueQueue()
  readonly other: DueQueue = createDueQueue()

  get size(): number {
    return this.urgent.size + this.other.size
  }

  has(key: string): boolean {
    return this.urgent.has(key) || this.other.has(key)
  }

  /** Adds a key or moves it, to the earlier of both times. What is urgent stays so. */
  add(key: string, dueAtMs: number, isUrgent: boolean): void {
    if (isUrgent) this.other.remove(key)
    const queue = isUrgent || this.urgent.has(key) ? this.urgent : this.other
    queue.add(key, dueAtMs)
  }

  /** Takes the key that is due longest, of the urgent ones if there are any. */
  takeFirst(nowMs: number): { readonly key: string; readonly isUrgent: boolean } | undefined {
    const [urgent] = this.urgent.take(nowMs, 1)
    if (urgent !== undefined) return { key: urgent, isUrgent: true }
    const [other] = this.other.take(nowMs, 1)
    return other === undefined ? undefined : { key: other, isUrgent: false }
  }

  /** When the next key is due; infinity when none is. */
  nextDueMs(): number {
    const never = Number.POSITIVE_INFINITY
    return Math.min(this.urgent.nextDueMs() ?? never, this.other.nextDueMs() ?? never)
  }
}

/** Keys with the time at which each is due; a key is in it at most once. */
interface DueQueue {
  readonly size: number
  has(key: string): boolean
  /** Adds a key or moves it: to the earlier of both times. */
  add(key: string, dueAtMs: number): void
  remove(key: string): void
  /** Takes at most `limit` keys that are due, the longest due first. */
  take(nowMs: number, limit: number): readonly string[]
  /** When the next key is due. */
  nextDueMs(): number | undefined
}

interface Item {
  readonly key: string
  readonly dueAtMs: number
  readonly order: number
}

/** An empty queue: a binary heap whose outdated items are skipped when they come up. */
export function createDueQueue(): DueQueue {
  const times = new Map<string, Item>()
  let heap: Item[] = []
  let order = 0

  const isLive = (item: Item): boolean => times.get(item.key) === item
  const skipOutdated = (): void => {
    for (let top = heap[0]; top !== undefined && !isLive(top); top = heap[0]) pop(heap)
  }

  return {
    get size() {
      return times.size
    },
    has: (key) => times.has(key),
    add: (key, dueAtMs) => {
      const known = times.get(key)
      if (known !== undefined && known.dueAtMs <= dueAtMs) return
      const item = { key, dueAtMs, order: order++ }
      times.set(key, item)
      push(heap, item)
      // Moves leave outdated items behind: build anew before they outnumber the live ones by much.
      if (heap.length > 64 && heap.length > 4 * times.size) {
        heap = [...times.values()].sort((a, b) => (isBefore(a, b) ? -1 : 1))
      }
    },
    remove: (key) => {
      times.delete(key)
    },
    take: (nowMs, limit) => {
      const taken: string[] = []
      while (taken.length < limit) {
        skipOutdated()
        const top = heap[0]
        if (top === undefined || top.dueAtMs > nowMs) break
        pop(heap)
        times.delete(top.key)
        taken.push(top.key)
      }
      return taken
    },
    nextDueMs: () => {
      skipOutdated()
      return heap[0]?.dueAtMs
    },
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.dueAtMs === b.dueAtMs ? a.order < b.order : a.dueAtMs < b.dueAtMs
}

function push(heap: Item[], item: Item): void {
  let at = heap.push(item) - 1
  while (at > 0) {
    const parentAt = (at - 1) >> 1
    const parent = heap[parentAt]
    if (parent === undefined || !isBefore(item, parent)) break
    heap[at] = parent
    at = parentAt
  }
  heap[at] = item
}

function pop(heap: Item[]): void {
  const last = heap.pop()
  if (last === undefined || heap.length === 0) return
  let at = 0
  for (;;) {
    const childAt = smallerChild(heap, at)
    const child = heap[childAt]
    if (child === undefined || !isBefore(child, last)) break
    heap[at] = child
    at = childAt
  }
  heap[at] = last
}

function smallerChild(heap: readonly Item[], at: number): number {
  const leftAt = 2 * at + 1
  const left = heap[leftAt]
  const right = heap[leftAt + 1]
  return left !== undefined && right !== undefined && isBefore(right, left) ? leftAt + 1 : leftAt
}

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
    const fault = `${result} ${messageOf(error)}`
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

/** How one key of a call ended. */
type ReconcileResult = Outcome['state'] | 'error' | 'timeout'

/** What a controller needs. `random` gives 0 (inclusive) to 1 (exclusive). */
export interface ControllerOptions {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Log
  readonly random: () => number
  /** Told once per key and call. */
  readonly counted: (resource: string, result: ReconcileResult) => void
  /** Told once per call. */
  readonly timed: (resource: string, seconds: number) => void
  readonly traces?: TraceBook | undefined
}
