import {
  type ComponentHealth,
  type Context,
  type CoreDriver,
  type CoreObserved,
  coreDriverRef,
  countText,
  type IncidentKind,
  type Instance,
  isServiceError,
  type Plugin,
  radioLink,
  ranDriverRef,
  timestampFromMs,
  untilAborted,
} from '@steeple/contracts'
import { looksOf, open5gsInfoRef, pagesOf, workJudged } from '@steeple/southbound'
import { type CoreA, coreA } from './core-driver.ts'
import { poolAddresses, poolsInForce } from './mend/pool-addresses.ts'

/** Renders, watches and steers an Open5GS core. */
export const plugin: Plugin = {
  doctor: ({ settings }) => {
    const { mme_url: mme, smf_url: smf, amf_url: amf } = settings.core_a
    return [...looksOf(settings, 'core_a'), ...pagesOf({ mme, smf, amf }, 'core_a')]
  },
  setup: async (context: Context): Promise<Instance> => {
    const core = coreA(context)
    const { driver } = core
    const watch = coreWatch(context, core)
    context.every(watch.everyMs, watch.look, 'each')
    context.every(
      watch.everyMs,
      poolAddresses(context, () => poolsInForce(context.settings)),
      'machine',
    )
    context.every(core.sessions.everyMs, core.sessions.look, 'machine')
    context.every(core.registration.everyMs, core.registration.look, 'each')
    return {
      services: new Map<string, object>([
        [coreDriverRef.id, counted(driver, context)],
        [open5gsInfoRef.id, core.info],
      ]),
      health: async (): Promise<readonly ComponentHealth[]> => [
        ...(await watch.freshHealth(context.retiring)),
        core.sessions.health(),
        core.deaf.health(),
        core.registration.health(),
      ],
      start: async () => {
        // Not awaited: a core that is away must not keep the service from starting.
        watch.look(context.retiring).catch(() => undefined)
      },
    }
  },
}

/** The driver with its kicks counted. */
function counted(driver: CoreDriver, { metrics, clock }: Context): CoreDriver {
  const kicks = metrics.counter('svc_driver_core_a_kicks_total', 'Kicks of phones, by how they ended.', [
    'result',
  ])
  const seconds = metrics.histogram(
    'svc_driver_core_a_kick_seconds',
    'Duration of kicks, until the phone was seen to be off or the kick was given up.',
    [0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10],
  )
  return {
    ...driver,
    kick: async (imsi, signal) => {
      const from = clock.monotonicMs()
      try {
        const result = await driver.kick(imsi, signal)
        kicks.inc({ result })
        return result
      } catch (error) {
        kicks.inc({ result: 'failed' })
        throw error
      } finally {
        seconds.observe((clock.monotonicMs() - from) / 1000)
      }
    },
  }
}

/** A look at the core every now and then, for health and metrics. */
interface CoreWatch {
  readonly everyMs: number
  look(signal: AbortSignal): Promise<void>
  health(): readonly ComponentHealth[]
  /** The same after another look, when the last one was not a moment ago; does not wait long for it. */
  freshHealth(signal: AbortSignal): Promise<readonly ComponentHealth[]>
}

type Judgement = readonly [status: ComponentHealth['status'], detail: string, incident?: IncidentKind]

const EVERY_MS = 10_000
/** So old a look counts for who asks: what the status and the list of SIMs say is as old. */
const FRESH_MS = 1_000
/** Who asks for health waits so long for a look. */
const HEALTH_WAIT_MS = 800
/** Longer than a walk, whose own words say more. */
const LOOK_MS = 9_000

type WatchedCore = Pick<CoreA, 'driver' | 'places' | 'others'>

/** Watches daemons and counts. The components are `daemons` (who answers), `work` (who does its work) and `radios`. */
export function coreWatch(context: Context, { driver, places, others }: WatchedCore): CoreWatch {
  const up = context.metrics.gauge(
    'svc_driver_core_a_daemon_up',
    '1: a daemon of the core answers. 0: it does not.',
    ['daemon'],
  )
  let last: Judgement = ['ok', 'the core was not asked yet']
  let work: Judgement = last
  const radios = radioWatch(context)
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
    work = workJudged(seen)
    await radios.look(seen, signal)
    const problem = await problemOf(driver, signal)
    return judged(seen, problem, others())
  }
  const look = async (signal: AbortSignal): Promise<void> => {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)])
    const statuses = (): string => [last, work, radios.judged()].map(([status]) => status).join()
    const before = statuses()
    try {
      last = await judge(limited)
    } catch (error) {
      signal.throwIfAborted()
      last = ['down', limited.aborted ? 'the core does not answer' : wordsOf(error)]
    } finally {
      lookedMs = context.clock.monotonicMs()
      if (statuses() !== before) context.healthChanged()
    }
  }
  const health = (): readonly ComponentHealth[] => {
    const required = context.settings.southbound.driver !== 'none'
    const common = { kind: 'core', required } as const
    const [status, words, incident = status === 'degraded' ? 'core_degraded' : 'no_core'] = last
    const detail = `${words} (${places().generations.join(' and ')})`
    const [ofRadios, radiosWords] = radios.judged()
    return [
      { ...common, name: 'daemons', status, detail, incident },
      { ...common, name: 'work', status: work[0], detail: work[1], incident: 'core_degraded' },
      { ...common, name: 'radios', status: ofRadios, detail: radiosWords, incident: 'no_radio' },
    ]
  }
  return {
    everyMs: EVERY_MS,
    look,
    health,
    freshHealth: async (signal) => {
      const isOld = context.clock.monotonicMs() - lookedMs > FRESH_MS
      // A core in trouble is looked at by the clock alone: nobody waits for it.
      if (isOld && last[0] === 'ok')
        await untilAborted(look(signal), AbortSignal.timeout(HEALTH_WAIT_MS)).catch(() => undefined)
      return health()
    },
  }
}

/** Misses base stations that were connected, unless the only one is this node's own and is off. */
function radioWatch(context: Context) {
  let had: { readonly count: number; readonly untilMs: number } | undefined
  let last: Judgement = ['ok', 'no base station was seen yet']
  const isOwnOff = async (signal: AbortSignal): Promise<boolean> => {
    return radioLink(await context.maybe(ranDriverRef)?.observe(signal), undefined).isWanted === false
  }
  return {
    judged: (): Judgement => last,
    look: async ({ radios, otherNetworks = [] }: CoreObserved, signal: AbortSignal): Promise<void> => {
      // A core that does not tell is told of elsewhere.
      if (radios === undefined) return
      if (radios > 0) {
        had = { count: radios, untilMs: context.clock.nowMs() }
        last = ['ok', `${radios} connected`]
      } else if (otherNetworks.length > 0) {
        last = ['ok', `connected in another network (${otherNetworks.join(', ')})`]
      } else if (had !== undefined) {
        const isOff = had.count === 1 && (await isOwnOff(signal).catch(() => false))
        last = isOff ? ['ok', 'none is connected: the radio of this node is off'] : missed(had)
      }
    },
  }
}

function missed({ count, untilMs }: { readonly count: number; readonly untilMs: number }): Judgement {
  const was = count === 1 ? 'one was' : `${count} were`
  return ['down', `no base station is connected; ${was} until ${timestampFromMs(untilMs)}`]
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
  const counts = `${countText(radios ?? 'unknown', 'base station')}, ${countText(attachedUes ?? 'unknown', 'phone')} attached`
  if (others === undefined) return ['ok', counts]
  // Besides its own it may serve others; serving others alone it is not the core that this node is set to.
  return radios === 0 ? ['degraded', `${counts}; ${others}`, 'other_network'] : ['ok', `${counts}; ${others}`]
}

function wordsOf(error: unknown): string {
  return isServiceError(error) ? error.message : 'the core could not be looked at'
}
