import { type Context, collectionConsumerRef, type Turns } from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { Lane } from './lane.ts'
import type { PollMetrics } from './metrics.ts'

/** Whoever counts is asked to give up after that, ms. */
const TAKE_BOUND_MS = 60_000

/** Has all that waits in the lanes counted, together; one hand-over at a time. Never rejects. */
export type HandOver = (signal: AbortSignal) => Promise<void>

/** What it hands over, and how. */
export interface HandOverOptions {
  /** By source. */
  readonly lanes: ReadonlyMap<string, Lane>
  readonly metrics: PollMetrics
  readonly inTurn: Turns
}

export function handOver(context: Context, { lanes, metrics, inTurn }: HandOverOptions): HandOver {
  let hasFailed = false
  const take = async (sources: readonly string[], signal: AbortSignal): Promise<void> => {
    const given = sources.flatMap((source) => {
      const lane = lanes.get(source)
      return lane?.collection === undefined ? [] : [{ source, lane, collection: lane.collection }]
    })
    const from = context.clock.monotonicMs()
    let refusal: string | undefined
    try {
      const consumer = context.use(collectionConsumerRef)
      const bound = AbortSignal.any([signal, AbortSignal.timeout(TAKE_BOUND_MS)])
      // Awaited to its end, however long: a poll from a position that is about to move would count twice.
      await consumer.take(new Map(given.map(({ source, collection }) => [source, collection])), bound)
    } catch (error) {
      refusal = safeText(error)
      hasFailed = true
    }
    metrics.took(refusal === undefined ? 'ok' : 'failed', (context.clock.monotonicMs() - from) / 1_000)
    for (const { lane } of given) lane.settle(refusal)
  }
  return (signal) =>
    inTurn(async () => {
      const waiting = [...lanes].flatMap(([source, lane]) => (lane.collection === undefined ? [] : [source]))
      // What cannot be counted must not keep all others from it for ever: after a failure each goes alone.
      const groups = hasFailed ? waiting.map((source) => [source]) : [waiting]
      hasFailed = false
      for (const group of groups) if (group.length > 0) await take(group, signal)
    })
}
