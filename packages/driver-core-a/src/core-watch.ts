import {
  type ComponentHealth,
  type Context,
  type CoreDriver,
  type CoreObserved,
  isServiceError,
} from '@steeple/contracts'
import type { CoreA } from './core-driver.ts'

/** A look at the core every now and then, for health and metrics. */
export interface CoreWatch {
  readonly everyMs: number
  look(signal: AbortSignal): Promise<void>
  health(): ComponentHealth
  /** The same after another look, when the last one was not a moment ago; does not wait long for it. */
  freshHealth(signal: AbortSignal): Promise<ComponentHealth>
}

type Judgement = readonly [status: ComponentHealth['status'], detail: string]

const EVERY_MS = 10_000
/** So old a look counts for who asks: what the status and the list of SIMs say is as old. */
const FRESH_MS = 1_000
/** Who asks for health waits so long for a look. */
const HEALTH_WAIT_MS = 800
/** Longer than a walk, whose own words say more. */
const LOOK_MS = 9_000

/** What is watched. */
type WatchedCore = Pick<CoreA, 'driver' | 'places' | 'others'>

/** Watches daemons and counts. The component is `daemons`. */
export function coreWatch(context: Context, { driver, places, others }: WatchedCore): CoreWatch {
  const up = context.metrics.gauge('svc_driver_core_a_daemon_up', 'Whether a daemon of the core answers.', [
    'daemon',
  ])
  let last: Judgement = ['ok', 'the core was not asked yet']
  let wasSeen = false
  let lookedMs = Number.NEGATIVE_INFINITY
  const judge = async (signal: AbortSignal): Promise<Judgement> => {
    const seen = await driver.observe(signal)
    const services = [...seen.services].filter(([, state]) => state !== 'unknown')
    for (const [daemon, state] of services) up.set(state === 'up' ? 1 : 0, { daemon })
    wasSeen ||= services.some(([, state]) => state === 'up')
    // Nobody said that there is one, and nobody has seen one: a box before its core is not ill.
    if (!wasSeen && context.settings.southbound.driver === 'none')
      return ['ok', 'no core answers, and none was seen since the start']
    const problem = await problemOf(driver, signal)
    return judged(seen, problem, others())
  }
  const look = async (signal: AbortSignal): Promise<void> => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)])
    const [before] = last
    try {
      last = await judge(limited)
    } catch (error) {
      signal.throwIfAborted()
      last = ['down', limited.aborted ? 'the core does not answer' : wordsOf(error)]
    } finally {
      lookedMs = context.clock.monotonicMs()
      if (last[0] !== before) context.healthChanged()
    }
  }
  const health = (): ComponentHealth => ({
    name: 'daemons',
    kind: 'core',
    status: last[0],
    detail: `${last[1]} (${places().generations.join(' and ')})`,
    required: context.settings.southbound.driver === 'container',
  })
  return {
    everyMs: EVERY_MS,
    look,
    health,
    freshHealth: async (signal) => {
      const isOld = context.clock.monotonicMs() - lookedMs > FRESH_MS
      // A core in trouble is looked at by the clock alone: nobody waits for it.
      if (isOld && last[0] === 'ok') await orAfter(look(signal), HEALTH_WAIT_MS)
      return health()
    },
  }
}

/** Why the list of phones cannot be had; undefined when it can. */
async function problemOf(driver: CoreDriver, signal: AbortSignal): Promise<string | undefined> {
  try {
    await driver.ues(signal)
    return undefined
  } catch (error) {
    signal.throwIfAborted()
    return wordsOf(error)
  }
}

function judged(
  { services, radios, attachedUes }: CoreObserved,
  problem: string | undefined,
  others: string | undefined,
): Judgement {
  const known = [...services].filter(([, state]) => state !== 'unknown')
  const down = known.filter(([, state]) => state === 'down').map(([daemon]) => daemon)
  const words = `down: ${down.join(', ')}`
  if (known.length > 0 && down.length === known.length) return ['down', words]
  if (down.length > 0) return ['degraded', problem === undefined ? words : `${words}; ${problem}`]
  if (problem !== undefined) return ['degraded', problem]
  const counts = `${radios ?? 'unknown'} base stations, ${attachedUes ?? 'unknown'} phones attached`
  if (others === undefined) return ['ok', counts]
  // Besides its own it may serve others; serving others alone it is not the core that this node is set to.
  return [radios === 0 ? 'degraded' : 'ok', `${counts}; ${others}`]
}

/** Waits for `work`, which goes on when it takes longer. */
async function orAfter(work: Promise<void>, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([work.catch(() => undefined), promise])
  clearTimeout(timer)
}

function wordsOf(error: unknown): string {
  return isServiceError(error) ? error.message : 'the core could not be looked at'
}
