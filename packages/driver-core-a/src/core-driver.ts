import {
  type ComponentHealth,
  type Context,
  type CoreDesired,
  type CoreDriver,
  hssDriverRef,
  type Imsi,
  type Rendered,
  type Settings,
  southboundUnavailable,
} from '@steeple/contracts'
import {
  attachTeller,
  type Daemon as ConfigDaemon,
  type CoreFiles,
  type CoreInfo,
  coreEngine,
  coreInfo,
  countingEngine,
  createCoreFiles,
  type DaemonLogs,
  type Engine,
  type Limits,
  type Open5gsInfo,
  open5gsInfo,
  pause,
  type RegistrationWatch,
  registrationReader,
  registrationWatch,
  restartsDown,
  runnersOf,
} from '@steeple/southbound'
import { type CorePlaces, corePlaces } from './core-places.ts'
import { attachWords, coreLogs, diagnoser, WRITERS } from './diagnose/diagnose.ts'
import { saidOf } from './diagnose/refusals.ts'
import { batchCancel, type KickLimits, kicker } from './kick/kick.ts'
import { poolsInForce } from './mend/pool-addresses.ts'
import { type SessionMender, sessionFaults, sessionMender } from './mend/session-mender.ts'
import { containerStateOf, daemonLook } from './observe/daemon-states.ts'
import { logTales } from './observe/log-tales.ts'
import {
  countedUes,
  listUes,
  type ObserveParts,
  observeCore,
  otherNetworks,
  stationsOf,
} from './observe/observe-core.ts'
import { hasDiameterAt, tunLook } from './observe/proc-net.ts'
import { homeKeys, renderSettings } from './render/core-plan.ts'
import { keptPools } from './render/kept-pools.ts'
import { planNotes } from './render/plan-notes.ts'
import { daemonOfFile, renderCore } from './render/render.ts'
import { DAEMONS, type Daemon } from './render/roles.ts'
import { h2Request, keptBus } from './sbi/bus.ts'
import { probeDaemon, type WorkParts } from './verify/probe.ts'

/** So many in a row, and the HSS is taken for one that no longer listens: one alone may be the phone's. */
const PATIENCE = 2
/** Between two restarts for this, ms. */
const RESTART_REST_MS = 600_000

/**
 * Notices an HSS whose change stream has died: the real one never opens it again after its database went away, and
 * whoever is cut off keeps the connection. It is restarted, once for each time that it went deaf.
 */
function deafHss(
  { clock, log }: Pick<Context, 'clock' | 'log'>,
  mayMend: () => boolean,
  restart: (signal: AbortSignal) => Promise<boolean>,
) {
  let unheard = 0
  let restartedAtMs: number | undefined
  let isHeard = false
  const isDeaf = (): boolean => unheard >= PATIENCE
  return {
    /** A cancel that was asked for did not show within the time of a kick. */
    unheard: async (signal: AbortSignal): Promise<void> => {
      unheard += 1
      isHeard = false
      const nowMs = clock.monotonicMs()
      const isEarly = restartedAtMs !== undefined && nowMs - restartedAtMs < RESTART_REST_MS
      if (!isDeaf() || !mayMend() || isEarly) return
      restartedAtMs = nowMs
      if (await restart(signal)) log.warn({ cancels: unheard }, 'HSS restarted: it did not hear of changes')
    },
    /** One has shown. */
    heard: (): void => {
      unheard = 0
      restartedAtMs = undefined
      isHeard = true
    },
    health: (): ComponentHealth => {
      const base = { name: 'hss_events', kind: 'core' } as const
      if (!isDeaf())
        return {
          ...base,
          status: 'ok',
          detail: isHeard
            ? 'cancels of the HSS reach the phones'
            : 'whether cancels of the HSS reach the phones is not known yet: none was seen to',
        }
      const done = restartedAtMs === undefined ? 'it has to be restarted' : 'it was restarted'
      return {
        ...base,
        status: 'degraded',
        detail: `the HSS did not act on ${unheard} cancels in a row: its change stream is dead, or the database is no replica set; ${done}`,
      }
    },
  }
}

type DeafHss = ReturnType<typeof deafHss>

const DATABASE_AWAY = /Failed to connect to server \[mongodb|No suitable servers found/i

/** Words of the daemons, and what they mean for who reads them. Recorded from the real ones. */
const HINTS: readonly (readonly [RegExp, string])[] = [
  [
    DATABASE_AWAY,
    'the subscriber database cannot be reached from there: set core_a.addresses.mongo or hss.mongo_url',
  ],
  [
    /bind\(\) \[[^\]]*\](?::[0-9]+)? failed|sctp_server .* failed/i,
    'the daemon does not have that address: see core_a.addresses, and the network of its container',
  ],
  [
    /cannot open file `/,
    'the daemon does not see the file: mount core_a.config_dir at core_a.config_mount in its container',
  ],
  [/Failed to parse configuration file|Parser error/, 'the file is not whole: something else writes it too'],
  [
    /Unable to open configuration file for reading/,
    'core_a.config_mount is not where it sees core_a.config_dir',
  ],
  [/getaddrinfo\(.*\) failed/, 'an address is none: see core_a.addresses'],
  [/No [a-z]+\.[a-zA-Z0-9_.]+ in '/, 'it reads another file than the rendered one: see its command line'],
  [
    /Error in the HTTP2 framing layer/,
    'its libcurl breaks the service bus (7.88.1 of Debian 12): take a newer image',
  ],
  [
    /Enable replica sets/,
    'change streams need a replica set; without one a block does not disconnect anybody',
  ],
]

/** Whether a daemon says that it cannot reach the subscriber database, without which it ends with code 0. */
function isDatabaseAway(words: string): boolean {
  return DATABASE_AWAY.test(words)
}

/** What the last words of a daemon mean, one line; undefined when nothing is known of them. */
export function hintFor(words: string): string | undefined {
  return HINTS.find(([pattern]) => pattern.test(words))?.[1]
}

/** The engine, whose containers' last words are followed by what they mean, for those that are known. */
export function withHints(engine: Engine): Engine {
  return {
    ...engine,
    logsTail: async (container, lines, signal, sinceMs) => {
      const words = await engine.logsTail(container, lines, signal, sinceMs)
      const hint = hintFor(words)
      return hint === undefined ? words : `${words}\nfailed, that is: ${hint}\n`
    },
  }
}

/** Why a phone has to go. TS 29.503 §6.1.6.3.3: after the second it is told to register again. */
type DeregReason = 'SUBSCRIPTION_WITHDRAWN' | 'REREGISTRATION_REQUIRED'
const NO_CONTENT = 204
const NOT_FOUND = 404

/**
 * Has the AMF deregister a phone, as a UDM would. `unknown`: the AMF has no such phone.
 *
 * Throws `southbound_unavailable` or the signal's reason, without the IMSI. Source: TS 29.503 §5.3.2.3.2.
 */
async function deregNotify(
  origin: string,
  imsi: Imsi,
  deregReason: DeregReason,
  signal: AbortSignal,
): Promise<'accepted' | 'unknown'> {
  const path = `/namf-callback/v1/imsi-${imsi}/dereg-notify`
  // TS 29.503 §6.1.6.2.5 (DeregistrationData).
  const body = JSON.stringify({ deregReason, accessType: '3GPP_ACCESS' })
  const { status } = await h2Request('amf', origin, { method: 'POST', path, body }, signal)
  if (status === NO_CONTENT) return 'accepted'
  if (status === NOT_FOUND) return 'unknown'
  throw southboundUnavailable(`amf did not take a deregistration: it answered ${status}`)
}

/** What tests put in place of the real surroundings. */
export interface CoreSeams {
  readonly places?: (settings: Context['settings']) => CorePlaces
  readonly engine?: Engine
  readonly limits?: Partial<Limits>
  readonly kickLimits?: Partial<KickLimits>
  /** Instead of `core_a.mend`. */
  readonly mayMend?: boolean
}

/** The driver of an Open5GS core, and what it stands on. */
export interface CoreA {
  readonly driver: CoreDriver
  /** Its walks, for others who want to know what the core lists. */
  readonly info: Open5gsInfo
  readonly files: CoreFiles
  readonly places: () => CorePlaces
  /** What the core was last seen to serve for other networks, for people; undefined when nothing. */
  readonly others: () => string | undefined
  /** Sees to it that attached phones have their sessions. */
  readonly sessions: SessionMender
  readonly deaf: DeafHss
  readonly registration: RegistrationWatch
}

export function coreA(context: Context, seams: CoreSeams = {}): CoreA {
  const { clock, retiring } = context
  const placesOf = seams.places ?? corePlaces
  const placesAt = (addresses: Readonly<Record<string, string>>): CorePlaces => {
    const { settings } = context
    return placesOf({ ...settings, core_a: { ...settings.core_a, addresses } })
  }
  const places = (): CorePlaces => placesAt(files.addresses())
  const engine = countingEngine(seams.engine ?? coreEngine(() => context.settings, 'core_a'), clock)
  const { restarted } = engine
  const info = coreInfo(clock, retiring, places)
  const infos = new WeakMap<Settings, CoreInfo>()
  /** Of a core that is where the settings do not say yet. */
  const infoAt = (at: Settings): CoreInfo => {
    const found = infos.get(at) ?? coreInfo(clock, retiring, () => placesOf(at))
    infos.set(at, found)
    return found
  }
  const stateOf = containerStateOf(engine, places)
  const logs = coreLogs(engine, () => context.settings)
  const writers = (): readonly Daemon[] => places().generations.map((generation) => WRITERS[generation])
  const work = workParts(context, engine, logs, places)
  const files = createCoreFiles(context, {
    core: 'core_a',
    place: (settings) => ({
      configDir: settings.core_a.config_dir,
      containers: runnersOf(settings.southbound, settings.core_a),
      addresses: settings.core_a.addresses,
    }),
    daemons: configDaemons,
    rendered,
    probe: (daemon, signal, addresses) => {
      const now = placesAt(addresses)
      return probeDaemon(daemon, now, work, signal)
    },
    ues: (technology, signal, at) => {
      const there = at && { info: infoAt(at), places: () => placesOf(at) }
      return countedUes({ info, places, clock, stateOf, ...there }, technology, signal)
    },
    fit: keptPools,
    ...planNotes(context),
    isOutage: isDatabaseAway,
    engine: withHints(engine),
    ...(seams.limits === undefined ? {} : { limits: seams.limits }),
  })
  const observeParts: ObserveParts = { info, places, work, restarted, appliedSha256: files.appliedSha256 }
  const cancelLocation = batchCancel(() => context.maybe(hssDriverRef), retiring)
  const { deaf, sessions } = menders(context, seams, { info, files, places, cancelLocation })
  const kick = kicker({
    clock,
    info,
    pause,
    cancelLocation,
    deregister: (imsi, signal) => deregNotify(places().busOf('amf'), imsi, 'SUBSCRIPTION_WITHDRAWN', signal),
    cancelShown: async (hasShown, signal) => (hasShown ? deaf.heard() : await deaf.unheard(signal)),
    ...(seams.kickLimits === undefined ? {} : { limits: seams.kickLimits }),
  })
  return {
    files,
    info: open5gsInfo(info),
    places,
    sessions,
    deaf,
    registration: registrationWatch(
      clock,
      registrationReader(logs, writers, (lines) => lines.flatMap((line) => saidOf(line) ?? [])),
    ),
    others: () => otherNetworks(info, places().plmn),
    driver: {
      ...files.driver,
      ...restartsDown(files, async (signal) => (await observeCore(observeParts, signal)).services),
      observe: (signal) => observeCore(observeParts, signal),
      kick,
      ues: (signal) => listUes(info, signal),
      attaches: attachTeller(logs, attachWords(writers)),
      stations: (technology, signal) => stationsOf({ info, clock }, technology, signal),
      pools: async () => [
        ...new Set([
          context.settings.core_a.subnet,
          ...(await poolsInForce(context.settings)).map(({ subnet }) => subnet),
        ]),
      ],
      diagnose: diagnoser({ info, logs, writers }),
    },
  }
}

/** What daemons are asked by whether they do their work. */
function workParts(context: Context, engine: Engine, logs: DaemonLogs, places: () => CorePlaces): WorkParts {
  const bus = keptBus(context.retiring)
  const containerOf = async (daemon: Daemon, signal: AbortSignal): ReturnType<Engine['inspect']> => {
    const container = places().containers[daemon]
    if (container === undefined) return undefined
    return await engine.inspect(container, signal).catch(() => undefined)
  }
  return {
    bus,
    look: daemonLook(containerStateOf(engine, places), bus),
    tales: logTales(context.clock, logs, async (one, other, signal) => {
      const { at } = places()
      return await hasDiameterAt(one, await containerOf(one, signal), [at(one), at(other)])
    }),
    tun: tunLook(),
    pools: () => poolsInForce(context.settings),
    upfContainer: (signal) => containerOf('upf', signal),
  }
}

async function rendered(desired: CoreDesired, settings: Settings): Promise<Rendered> {
  const { keys } = await homeKeys(settings)
  const { addresses } = settings.core_a
  return renderCore({ ...desired, addresses }, renderSettings(settings, keys))
}

/** Who sees to it that phones have their sessions, and that the HSS hears of changes. */
function menders(
  context: Context,
  seams: CoreSeams,
  {
    info,
    files,
    places,
    cancelLocation,
  }: Pick<CoreA, 'files' | 'places'> & {
    readonly info: ReturnType<typeof coreInfo>
    readonly cancelLocation: ReturnType<typeof batchCancel>
  },
): Pick<CoreA, 'deaf' | 'sessions'> {
  /** Look only means look only: what a mender writes into a database or tells a phone is a change like any other. */
  const keepsOff = (): string | undefined => {
    if (context.settings.southbound.driver === 'none') return 'southbound.driver is none'
    return (seams.mayMend ?? context.settings.core_a.mend) ? undefined : 'core_a.mend is off'
  }
  const restart = async (daemon: Daemon, why: string, signal: AbortSignal): Promise<boolean> =>
    (await files.restart([daemon], why, signal)).length > 0
  const deaf = deafHss(
    context,
    () => keepsOff() === undefined,
    (signal) => restart('hss', 'it does not hear of changes in its database', signal),
  )
  const sessions = sessionMender(context, {
    keepsOff,
    restart,
    inVain: (signal) => deaf.unheard(signal),
    look: (signal) => sessionFaults(info, places().urlOf, signal),
    recall: async (imsi, technology, signal) => {
      if (technology === 'lte') return await cancelLocation(imsi, signal)
      const how = await deregNotify(places().busOf('amf'), imsi, 'REREGISTRATION_REQUIRED', signal)
      return how === 'accepted'
    },
  })
  return { deaf, sessions }
}

/** The daemons of a rendered set, in the order of their restarts, with their files. */
function configDaemons({ files }: Rendered): readonly Omit<ConfigDaemon, 'container'>[] {
  const paths = [...files.keys()]
  return DAEMONS.filter((daemon) => files.has(`${daemon}.yaml`)).map((daemon) => ({
    name: daemon,
    files: paths.filter((path) => daemonOfFile(path) === daemon),
    drops: DROPS[daemon] ?? 'none',
    ...(STALE_AFTER[daemon] === undefined ? {} : { restartsAfter: STALE_AFTER[daemon] }),
  }))
}

/** Whose phones lose their connection: contexts and sessions are in memory alone. */
const DROPS: Readonly<Partial<Record<Daemon, ConfigDaemon['drops']>>> = {
  mme: 'lte',
  sgwc: 'lte',
  sgwu: 'lte',
  amf: 'nr',
  smf: 'all',
  upf: 'all',
}

/**
 * Who keeps what another has forgotten: an MME or AMF that restarts its phones, a UPF or SGW its sessions. SMF and SGW-C
 * keep sessions and addresses until they restart. MME and AMF do not follow: that would cut off their base stations. The
 * phones that they still list are told to come back (`sessionMender`).
 */
const STALE_AFTER: Readonly<Partial<Record<Daemon, readonly Daemon[]>>> = {
  sgwc: ['mme', 'sgwu'],
  smf: ['mme', 'amf', 'upf', 'sgwc', 'sgwu'],
}
