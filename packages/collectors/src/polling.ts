import {
  type Collector,
  type ComponentHealth,
  type Context,
  collectionConsumerRef,
  collectorRef,
  createTurns,
  untilAborted,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import { handOver } from './hand-over.ts'
import { createLane, type Lane } from './lane.ts'
import { pollMetrics } from './metrics.ts'
import { findSources, type Provided } from './sources.ts'

/** What a round may spend waiting for its polls: that part of the interval, and at most that long, ms. */
const GRACE_PART = 1 / 3
const MOST_GRACE_MS = 5_000
/** What a collector says of itself must come within that, ms. */
const HEALTH_BOUND_MS = 1_000

const NO_CONSUMER = 'no plugin that keeps usage is there (collectors.consumer)'

/** Polls all collectors. */
export interface Polling {
  /**
   * Asks each that is there and has nothing under way, and has what they give counted together. One that has not answered
   * after a while is left to itself: what it gives is counted when it comes, and the next rounds don't wait for it.
   */
  round(signal: AbortSignal): Promise<void>
  /** Resolves when nothing is being counted any more. */
  settled(): Promise<void>
  health(): Promise<readonly ComponentHealth[]>
}

/**
 * Nothing of what is seen is kept here: a collector is asked from the position that is kept beside what was counted, and what
 * was not counted is asked for again.
 */
export function polling(context: Context, intervalMs: number): Polling {
  const metrics = pollMetrics(context)
  const lanes = new Map<string, Lane>()
  const inTurn = createTurns()
  const handOverAll = handOver(context, { lanes, metrics, inTurn })
  const graceMs = Math.ceil(Math.min(intervalMs * GRACE_PART, MOST_GRACE_MS))
  const laneOf = (source: string, id: string): Lane => {
    const known = lanes.get(source)
    // What the copy of another plugin has under way comes to its end first.
    if (known !== undefined && (known.id === id || known.isBusy)) return known
    if (known !== undefined) metrics.gone(known.id)
    const made = createLane({ id, source, clock: context.clock, intervalMs, metrics })
    lanes.set(source, made)
    return made
  }
  const forgetAllBut = (there: ReadonlyMap<string, Provided>): void => {
    for (const [source, lane] of lanes) {
      if (there.has(source) || lane.isBusy) continue
      lanes.delete(source)
      metrics.gone(lane.id)
    }
  }
  const visit = async (lane: Lane, collector: Collector, signal: AbortSignal): Promise<void> => {
    await lane.poll(collector, context.use(collectionConsumerRef), signal)
    if (lane.isSlow) await handOverAll(signal)
  }
  return {
    round: async (signal) => {
      const { bySource } = findSources(context)
      forgetAllBut(bySource)
      const hasConsumer = context.maybe(collectionConsumerRef) !== undefined
      const asked: Lane[] = []
      const awaited: Promise<void>[] = []
      for (const [source, { id, collector }] of bySource) {
        const lane = laneOf(source, id)
        metrics.lag(lane.id, lane.watch.lagS())
        if (!hasConsumer) lane.watch.waiting(NO_CONSUMER)
        if (!hasConsumer || lane.isBusy) continue
        const visiting = visit(lane, collector, signal)
        asked.push(lane)
        if (!lane.isSlow) awaited.push(visiting)
      }
      await untilAborted(Promise.all(awaited), AbortSignal.timeout(graceMs)).catch(() => undefined)
      for (const lane of asked) lane.isSlow = lane.isPolling
      await handOverAll(signal)
    },
    settled: () => inTurn(async () => undefined),
    health: async () => {
      const { refused } = findSources(context)
      return [...(await Promise.all([...lanes.values()].map((lane) => healthOf(context, lane)))), ...refused]
    },
  }
}

async function healthOf(context: Context, { id, watch }: Lane): Promise<ComponentHealth> {
  const own = async () => await context.maybe(collectorRef(id))?.health?.()
  let said: Awaited<ReturnType<typeof own>>
  try {
    said = await untilAborted(own(), AbortSignal.timeout(HEALTH_BOUND_MS))
  } catch (error) {
    said = { status: 'degraded', detail: `does not tell how it does: ${safeText(error)}` }
  }
  return { name: id, kind: 'collector', ...watch.health(said) }
}
