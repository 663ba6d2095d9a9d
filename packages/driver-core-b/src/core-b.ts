import { isDeepStrictEqual } from 'node:util'
import {
  type Context,
  type CoreDriver,
  type ObservedUe,
  type Rendered,
  type Settings,
  southboundUnavailable,
} from '@steeple/contracts'
import {
  attachTeller,
  type CoreFiles,
  type CoreFilesParts,
  coreEngine,
  countingEngine,
  createCoreFiles,
  type Daemon,
  type Engine,
  type Free5gcOam,
  type Registration,
  type RegistrationWatch,
  registrationReader,
  registrationWatch,
  restartsDown,
  runnersOf,
  type SharedList,
  sharedList,
} from '@steeple/southbound'
import { type AmfClient, createAmfClient } from './amf/amf-client.ts'
import { unchargedPhones } from './charging/uncharged.ts'
import { ATTACH_WORDS, amfLogs, diagnoser, registrationTeller } from './diagnose/diagnose.ts'
import { type SteerHealth, steerHealth } from './health.ts'
import { coreUrls } from './places.ts'
import { renderSettings } from './render/core-plan.ts'
import { FUNCTIONS, functionOfFile, isNetworkFunction, type NetworkFunction } from './render/functions.ts'
import { renderCore } from './render/render.ts'
import { createCaller } from './sbi/caller.ts'
import type { HttpClient } from './sbi/http-client.ts'
import { createTokenSource, type TokenSource } from './sbi/token-source.ts'
import { createSmfClient } from './smf/smf-client.ts'
import { functionStates, problemOf, type WatchedCore } from './steer/function-states.ts'
import { createKick, type Kick, type Kicked } from './steer/kick.ts'
import { chargingRun, type Reached, type WorkWatch, workWatch } from './work/work-watch.ts'

/** What functions lack is looked at with health; a look so old counts for who asks for the state of the core, ms. */
const WORK_AGE_MS = 5_000

/** What is seen of a core. Of what is read of a subscriber, only references of sessions outlive the call. */
function seen(
  list: SharedList,
  files: CoreFiles,
  watched: WatchedCore,
  work: WorkWatch,
): Pick<CoreDriver, 'ues' | 'observe'> {
  const ues = async (signal: AbortSignal): Promise<readonly ObservedUe[]> =>
    uesFrom((await list.recent(0, signal)).registrations)
  const attached = async (signal: AbortSignal): Promise<number | undefined> => {
    try {
      return (await ues(signal)).length
    } catch {
      signal.throwIfAborted()
      return undefined
    }
  }
  return {
    ues,
    observe: async (signal) => {
      signal.throwIfAborted()
      const [configSha256, services, problems, attachedUes] = await Promise.all([
        files.appliedSha256().catch(() => undefined),
        functionStates(watched, signal),
        work.problems(WORK_AGE_MS, signal),
        attached(signal),
      ])
      const restarted = watched.restarted()
      // No interface of free5GC lists the gNBs.
      return { configSha256, services, problems, restarted, radios: undefined, attachedUes }
    },
  }
}

/** The phones in a list of registrations: one per subscriber, however many accesses it has. */
export function uesFrom(registrations: readonly Registration[]): readonly ObservedUe[] {
  return [...Map.groupBy(registrations, ({ imsi }) => imsi)].map(([imsi, all]) => ({
    imsi,
    isRegistered: true,
    apns: [...new Set(all.flatMap(({ sessions }) => sessions.map(({ dnn }) => dnn)))]
      .filter((dnn) => dnn !== '')
      .toSorted(),
    isConnected: all.some(({ isConnected }) => isConnected),
  }))
}

/** Functions whose restart ends every connection or session. */
const DROPPING: readonly NetworkFunction[] = ['nrf', 'upf', 'smf', 'amf']

/**
 * The functions that a rendered set needs, in the order of their restarts.
 *
 * There is no reload. The NRF drops every profile when it ends and nobody registers a second time by himself, so all
 * others restart after it. An SMF keeps sessions that a restarted UPF has lost, and AMF and SMF keep each other's: a
 * phone that a restarted AMF has forgotten could not be cut off at the SMF any more. So the two restart together.
 */
function daemonsOf({ files }: Rendered): readonly Omit<Daemon, 'container'>[] {
  return FUNCTIONS.flatMap((nf) => {
    const own = [...files.keys()].filter((path) => functionOfFile(path) === nf)
    if (own.length === 0) return []
    const drops = DROPPING.includes(nf) ? 'nr' : 'none'
    return [{ name: nf, files: own, drops, restartsAfter: leadersOf(nf) } as const]
  })
}

function leadersOf(nf: NetworkFunction): readonly NetworkFunction[] {
  // The UPF knows no NRF.
  if (nf === 'nrf' || nf === 'upf') return []
  if (nf === 'smf') return ['nrf', 'upf', 'amf']
  return nf === 'amf' ? ['nrf', 'smf'] : ['nrf']
}

/** Ten functions that each wait for the NRF take longer than those of other cores, ms. */
const HEALTH_MS = 60_000

/** A free5GC core as this node holds it. */
export interface CoreB {
  readonly driver: CoreDriver
  readonly files: CoreFiles
  readonly health: SteerHealth
  readonly tokens: TokenSource
  readonly oam: Free5gcOam
  readonly registration: RegistrationWatch
}

/** Puts the parts together; opens nothing. `engine` and `limits` are for tests. */
export function createCoreB(
  context: Context,
  http: HttpClient,
  more: Pick<CoreFilesParts, 'engine' | 'limits'> = {},
): CoreB {
  const settings = (): Settings => context.settings
  const section = (): Settings['core_b'] => context.settings.core_b
  const urls = coreUrls(section, () => files.addresses())
  const metrics = steerMetrics(context)
  const tokens = createTokenSource({ http, clock: context.clock, nrfUrl: urls.nrf, requested: metrics.token })
  const caller = createCaller(http, tokens)
  const amf = createAmfClient(caller, urls.amf)
  const smf = createSmfClient(caller, urls.smf)
  const engine = countingEngine(more.engine ?? coreEngine(settings, 'core_b'), context.clock)
  const containers = () => runnersOf(context.settings.southbound, section())
  const logs = amfLogs(engine, containers)
  const watched: WatchedCore = {
    http,
    urls,
    hasCharging: () => section().charging,
    container: containerState(settings, engine),
    restarted: () => engine.restarted(containers()),
    answered: new Map(),
  }
  const kick = createKick(amf, smf)
  const uncharged = unchargedPhones(context, kick)
  const reached: Reached = {
    engine,
    caller,
    nrfUrl: urls.nrf,
    hasCharging: watched.hasCharging,
    containers,
  }
  const work = workWatch(context.clock, reached, uncharged.problem)
  const files = createCoreFiles(context, {
    ...filesParts(watched, work, settings),
    ues: async (technology, signal, at) => {
      // One that no setting names yet is not asked: its tokens come from another NRF, too.
      if (at !== undefined && !isDeepStrictEqual(placesOf(at), placesOf(settings())))
        throw southboundUnavailable('the AMF is not asked before the settings name it')
      // free5GC serves no LTE.
      return technology === 'nr' ? await driver.ues(signal) : []
    },
    ...more,
    engine,
  })
  const list = sharedList(context.clock, counted(metrics, kick, amf))
  const driver: CoreDriver = {
    ...files.driver,
    ...restartsDown(files, (signal) => functionStates(watched, signal)),
    ...seen(list, files, watched, work),
    kick: timedKick(metrics, kick),
    diagnose: diagnoser(list, logs),
    attaches: attachTeller(logs, ATTACH_WORDS),
    pools: async () => [section().subnet],
  }
  const oam: Free5gcOam = {
    registrations: list.recent,
    session: smf.session,
    charging: (signal) => chargingRun(reached, signal),
    uncharged: uncharged.told,
  }
  const health = steerHealth(context, { amf, smf, watched, work, uncharged, files, seen: metrics.daemon })
  const registration = registrationWatch(
    context.clock,
    registrationReader(logs, ATTACH_WORDS.writers, registrationTeller()),
  )
  return { driver, files, tokens, health, oam, registration }
}

function placesOf({ core_b: { amf_oam_url: url, addresses, oauth } }: Settings): object {
  return { url, addresses, oauth }
}

/** What the shared part of core drivers needs of this one. */
function filesParts(watched: WatchedCore, work: WorkWatch, settings: () => Settings): CoreFilesParts {
  return {
    core: 'core_b',
    place: (now) => ({
      configDir: now.core_b.config_dir,
      containers: runnersOf(now.southbound, now.core_b),
      addresses: now.core_b.addresses,
    }),
    daemons: daemonsOf,
    rendered: async (desired, now) =>
      renderCore({ ...desired, addresses: now.core_b.addresses }, renderSettings(now)),
    probe: async (daemon, signal, addresses) => {
      if (!isNetworkFunction(daemon)) return undefined
      const urls = coreUrls(
        () => settings().core_b,
        () => addresses,
      )
      const problem = await problemOf(daemon, { ...watched, urls }, signal)
      // Where a function is not to be found from here, its container is all there is to judge by.
      const isHidden = problem?.isUnknownName === true || !urls.isNamed(daemon)
      if (problem !== undefined && !isHidden) return problem.words
      return await work.problemOf(daemon, urls.nrf, signal)
    },
    limits: { healthMs: HEALTH_MS },
  }
}

/** How long the engine may take to tell of one container, ms. */
const INSPECT_MS = 4_000

/** The state of what runs the functions, where it is named. */
function containerState(settings: () => Settings, engine: Engine): WatchedCore['container'] {
  return async (nf, signal) => {
    const { southbound, core_b } = settings()
    const container = runnersOf(southbound, core_b)[nf]
    if (container === undefined) return undefined
    try {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(INSPECT_MS)])
      return (await engine.inspect(container, limited))?.isRunning === true ? 'up' : 'down'
    } catch {
      // The engine's own trouble is told by the component `core`.
      signal.throwIfAborted()
      return undefined
    }
  }
}

/** The AMF's list, counted; sessions on it are remembered for kicks. */
function counted(metrics: SteerMetrics, kick: Kick, amf: AmfClient): AmfClient['registrations'] {
  return async (signal) => {
    try {
      const registrations = await metrics.timed('list', () => amf.registrations(signal))
      kick.seen(registrations)
      metrics.registered(new Set(registrations.map(({ imsi }) => imsi)).size)
      return registrations
    } catch (error) {
      metrics.registered(undefined)
      throw error
    }
  }
}

function timedKick(metrics: SteerMetrics, kick: Kick): CoreDriver['kick'] {
  return async (imsi, signal) => {
    try {
      const result = await metrics.timed('kick', () => kick(imsi, signal))
      metrics.kicked(result)
      return result
    } catch (error) {
      metrics.kicked('failed')
      throw error
    }
  }
}

function steerMetrics({ metrics, clock }: Context) {
  const kicks = metrics.counter('svc_driver_core_b_kicks_total', 'Kicks of phones, by result.', ['result'])
  const tokens = metrics.counter(
    'svc_driver_core_b_tokens_total',
    'Access tokens requested from the NRF, by result.',
    ['result'],
  )
  const ues = metrics.gauge(
    'svc_driver_core_b_registered_ues',
    'Phones registered at the AMF, at the last poll. NaN: the AMF gives no number.',
  )
  ues.set(Number.NaN)
  const up = metrics.gauge(
    'svc_driver_core_b_daemon_up',
    '1: a function of the core answers. 0: it does not.',
    ['daemon'],
  )
  const seconds = metrics.histogram(
    'svc_driver_core_b_call_seconds',
    'Duration of requests to the core.',
    [0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30],
    ['operation'],
  )
  return {
    kicked: (result: Kicked | 'failed'): void => kicks.inc({ result }),
    token: (result: 'ok' | 'failed'): void => tokens.inc({ result }),
    /** Whether a function answers. */
    daemon: (daemon: string, isUp: boolean): void => up.set(isUp ? 1 : 0, { daemon }),
    /** Registered phones; undefined when the AMF does not tell. */
    registered: (count: number | undefined): void => ues.set(count ?? Number.NaN),
    timed: async <T>(operation: 'kick' | 'list', work: () => Promise<T>): Promise<T> => {
      const from = clock.monotonicMs()
      try {
        return await work()
      } finally {
        seconds.observe((clock.monotonicMs() - from) / 1000, { operation })
      }
    },
  }
}

type SteerMetrics = ReturnType<typeof steerMetrics>
