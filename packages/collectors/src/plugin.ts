import {
  type Collection,
  type Collector,
  type ComponentHealth,
  type Context,
  collectionConsumerRef,
  collectorRef,
  createTurns,
  type Instance,
  msFromDuration,
  type Plugin,
  serviceInfoRef,
  type Turns,
  untilAborted,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import { Lane, type PollMetrics, pollMetrics } from './lane.ts'

/** Whoever counts is asked to give up after that, ms. */
const TAKE_BOUND_MS = 60_000

/** Has all that waits in the lanes (by source) counted, together; one hand-over at a time. Never rejects. */
function handOver(context: Context, lanes: ReadonlyMap<string, Lane>, metrics: PollMetrics, inTurn: Turns) {
  let hasFailed = false
  const take = async (sources: readonly string[], signal: AbortSignal): Promise<void> => {
    const given = new Map<string, Collection>()
    for (const source of sources) {
      const collection = lanes.get(source)?.collection
      if (collection !== undefined) given.set(source, collection)
    }
    const from = context.clock.monotonicMs()
    let refusal: string | undefined
    try {
      const bound = AbortSignal.any([signal, AbortSignal.timeout(TAKE_BOUND_MS)])
      // Awaited to its end, however long: a poll from a position that is about to move would count twice.
      await context.use(collectionConsumerRef).take(given, bound)
    } catch (error) {
      refusal = safeText(error)
      hasFailed = true
    }
    metrics.took(refusal === undefined ? 'ok' : 'failed', (context.clock.monotonicMs() - from) / 1_000)
    for (const source of given.keys()) lanes.get(source)?.settle(refusal)
  }
  return (signal: AbortSignal): Promise<void> =>
    inTurn(async () => {
      const waiting = [...lanes].flatMap(([source, lane]) => (lane.collection === undefined ? [] : [source]))
      // What cannot be counted must not keep all others from it for ever: after a failure each goes alone.
      const groups = hasFailed ? waiting.map((source) => [source]) : [waiting]
      hasFailed = false
      for (const group of groups) if (group.length > 0) await take(group, signal)
    })
}

const SOURCE = /^[a-z][a-z0-9-]*$/

/**
 * Finds collectors by the plugins that run: each provides `collector.<its id>`. Positions belong to a source: of two plugins
 * with the same one the first is asked, and health says so of the other.
 */
function findSources(context: Context) {
  const bySource = new Map<string, { readonly id: string; readonly collector: Collector }>()
  const refused: ComponentHealth[] = []
  for (const { name: id } of context.maybe(serviceInfoRef)?.plugins() ?? []) {
    const collector = context.maybe(collectorRef(id))
    if (collector === undefined) continue
    const { source } = collector
    const first = bySource.get(source)
    if (!SOURCE.test(source)) refused.push(down(id, `its source is not named ${SOURCE.source}`))
    else if (first === undefined) bySource.set(source, { id, collector })
    else refused.push(down(id, `its source ${source} is that of ${first.id}: unload one of the two`))
  }
  return { bySource, refused }
}

function down(name: string, detail: string): ComponentHealth {
  return { name, kind: 'collector', status: 'down', detail }
}

/** What a round may spend waiting for its polls: that part of the interval, and at most that long, ms. */
const GRACE_PART = 1 / 3
const MOST_GRACE_MS = 5_000
/** What a collector says of itself must come within that, ms. */
const HEALTH_BOUND_MS = 1_000

const NO_CONSUMER = 'no plugin that keeps usage is there (collectors.consumer)'

/**
 * Nothing of what is seen is kept here: a collector is asked from the position that is kept beside what was counted, and what
 * was not counted is asked for again.
 */
function polling(context: Context, intervalMs: number) {
  const metrics = pollMetrics(context)
  const lanes = new Map<string, Lane>()
  const inTurn = createTurns()
  const handOverAll = handOver(context, lanes, metrics, inTurn)
  const graceMs = Math.ceil(Math.min(intervalMs * GRACE_PART, MOST_GRACE_MS))
  const laneOf = (source: string, id: string): Lane => {
    const known = lanes.get(source)
    // What the copy of another plugin has under way comes to its end first.
    if (known !== undefined && (known.id === id || known.isBusy)) return known
    if (known !== undefined) metrics.gone(known.id)
    const made = new Lane({ id, source, clock: context.clock, intervalMs, metrics })
    lanes.set(source, made)
    return made
  }
  const forgetAllBut = (there: ReadonlyMap<string, unknown>): void => {
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
    /**
     * Asks each that is there and has nothing under way, and has what they give counted together. One that has not answered
     * after a while is left to itself: what it gives is counted when it comes, and the next rounds don't wait for it.
     */
    round: async (signal: AbortSignal): Promise<void> => {
      const { bySource } = findSources(context)
      forgetAllBut(bySource)
      const hasConsumer = context.maybe(collectionConsumerRef) !== undefined
      const asked: Lane[] = []
      const awaited: Promise<void>[] = []
      for (const [source, { id, collector }] of bySource) {
        const lane = laneOf(source, id)
        metrics.lag(lane.id, lane.lagS)
        if (!hasConsumer) lane.waits(NO_CONSUMER)
        if (!hasConsumer || lane.isBusy) continue
        const visiting = visit(lane, collector, signal)
        asked.push(lane)
        if (!lane.isSlow) awaited.push(visiting)
      }
      await untilAborted(Promise.all(awaited), AbortSignal.timeout(graceMs)).catch(() => undefined)
      for (const lane of asked) lane.isSlow = lane.isPolling
      await handOverAll(signal)
    },
    /** Resolves when nothing is being counted any more. */
    settled: () => inTurn(async () => undefined),
    health: async (): Promise<readonly ComponentHealth[]> => {
      const { refused } = findSources(context)
      return [...(await Promise.all([...lanes.values()].map((lane) => healthOf(context, lane)))), ...refused]
    },
  }
}

async function healthOf(context: Context, lane: Lane): Promise<ComponentHealth> {
  const own = async () => await context.maybe(collectorRef(lane.id))?.health?.()
  let said: Awaited<ReturnType<typeof own>>
  try {
    said = await untilAborted(own(), AbortSignal.timeout(HEALTH_BOUND_MS))
  } catch (error) {
    said = { status: 'degraded', detail: `does not tell how it does: ${safeText(error)}` }
  }
  return { name: lane.id, kind: 'collector', ...lane.health(said) }
}

const DEFAULT_INTERVAL_MS = 15_000

/** Polls every collector that is installed, whoever made it, and has what they have seen counted. */
export const plugin: Plugin = {
  setup: async (context: Context): Promise<Instance> => {
    const { enabled, interval } = context.settings.collector
    const intervalMs = msFromDuration(interval) ?? DEFAULT_INTERVAL_MS
    const polls = polling(context, intervalMs)
    if (!enabled) return { health: async () => [OFF] }
    const round = async (): Promise<void> => {
      await polls.round(context.retiring)
      context.healthChanged()
    }
    context.every(intervalMs, round, 'machine')
    return {
      // Its failures are in its health, and the start of the service waits for no source.
      start: async () => void round(),
      health: () => polls.health(),
      // The next copy must not ask from a position that is about to move.
      stop: () => polls.settled(),
    }
  },
}

const OFF = {
  name: 'polling',
  kind: 'collector',
  status: 'ok',
  detail: 'collector.enabled is false: no collector is polled',
} as const
