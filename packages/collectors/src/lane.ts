import {
  type Clock,
  type Collection,
  type CollectionConsumer,
  type Collector,
  untilAborted,
} from '@steeple/contracts'
import { collectionProblem } from './collection-check.ts'
import { type CollectorWatch, collectorWatch } from './collector-watch.ts'
import type { PollMetrics } from './metrics.ts'

/** Shortest bound on one poll: a collector with a short interval may still have a slow source, ms. */
const LEAST_BOUND_MS = 10_000

/** The polls of one source: one at a time, and the next one only when what the last one gave is counted or given up. */
export interface Lane {
  /** The plugin that provides the source. */
  readonly id: string
  readonly watch: CollectorWatch
  /** What the last poll gave and nobody has counted yet. */
  readonly collection: Collection | undefined
  readonly isPolling: boolean
  /** A poll runs, or what it gave waits. */
  readonly isBusy: boolean
  /** The last round went on without it. */
  isSlow: boolean
  /** Asks for what came since the position that is kept. Never rejects. */
  poll(collector: Collector, consumer: CollectionConsumer, signal: AbortSignal): Promise<void>
  /** What it gave is counted, or not; with why: the same position is polled again. */
  settle(refusal: string | undefined): void
}

interface LaneOptions {
  readonly id: string
  readonly source: string
  readonly clock: Clock
  readonly intervalMs: number
  readonly metrics: PollMetrics
}

export function createLane({ id, source, clock, intervalMs, metrics }: LaneOptions): Lane {
  const watch = collectorWatch(clock, intervalMs)
  let collection: Collection | undefined
  let isPolling = false
  const ask = async (
    collector: Collector,
    consumer: CollectionConsumer,
    signal: AbortSignal,
  ): Promise<void> => {
    const bound = AbortSignal.any([signal, AbortSignal.timeout(Math.max(intervalMs, LEAST_BOUND_MS))])
    const from = clock.monotonicMs()
    const seconds = (): number => (clock.monotonicMs() - from) / 1_000
    try {
      const position = await untilAborted(consumer.position(source), bound)
      const given = await untilAborted(collector.poll(position, bound), bound)
      const problem = await collectionProblem(given)
      if (problem !== undefined) throw new Error(`what it gave cannot be counted: ${problem}`)
      collection = given
      watch.worked(given)
      metrics.polled(id, 'ok', seconds())
    } catch (error) {
      if (signal.aborted) return
      watch.failed(bound.aborted ? new Error('it did not answer in time') : error)
      metrics.polled(id, 'failed', seconds())
    }
  }
  return {
    id,
    watch,
    get collection() {
      return collection
    },
    get isPolling() {
      return isPolling
    },
    get isBusy() {
      return isPolling || collection !== undefined
    },
    isSlow: false,
    poll: async (collector, consumer, signal) => {
      isPolling = true
      await ask(collector, consumer, signal)
      isPolling = false
    },
    settle: (refusal) => {
      if (collection === undefined) return
      metrics.ended(id, refusal === undefined ? 'counted' : 'refused', collection)
      collection = undefined
      if (refusal === undefined) watch.counted()
      else watch.waiting(refusal)
    },
  }
}
