import { type Context, type CoreDriver, hssDriverRef, type Rendered } from '@steeple/contracts'
import {
  type Daemon as ConfigDaemon,
  type CoreConfig,
  createCoreConfig,
  type Engine,
  engineAt,
  type Limits,
  pause,
} from '@steeple/southbound'
import { type CorePlaces, corePlaces } from './core-places.ts'
import { batchCancel } from './kick/batch-cancel.ts'
import { deregNotify } from './kick/dereg-notify.ts'
import { type KickLimits, kicker } from './kick/kick.ts'
import { coreInfo } from './observe/core-info.ts'
import { type ContainerState, daemonLook } from './observe/daemon-states.ts'
import { listUes, type ObserveParts, observeCore } from './observe/observe-core.ts'
import { otherNetworks } from './observe/other-networks.ts'
import { renderSettings } from './render/core-plan.ts'
import { daemonOfFile, renderCore } from './render/render.ts'
import { DAEMONS, type Daemon } from './render/roles.ts'
import { withHints } from './verify/hints.ts'
import { probeDaemon } from './verify/probe.ts'

/** What tests put in place of the real surroundings. */
export interface CoreSeams {
  readonly places?: (settings: Context['settings']) => CorePlaces
  readonly engine?: Engine
  readonly limits?: Partial<Limits>
  readonly kickLimits?: Partial<KickLimits>
}

/** The driver of an Open5GS core and the keeping of its configuration. */
export interface CoreA {
  readonly driver: CoreDriver
  readonly config: CoreConfig
  readonly places: () => CorePlaces
  /** What the core was last seen to serve for other networks, for people; undefined when nothing. */
  readonly others: () => string | undefined
}

/** Makes both. Opens nothing. */
export function coreA(context: Context, seams: CoreSeams = {}): CoreA {
  const { clock, retiring } = context
  const places = (): CorePlaces => (seams.places ?? corePlaces)(context.settings)
  const engine = seams.engine ?? engineAt(context.settings.hss.engine_socket)
  const info = coreInfo(clock, retiring, places)
  const render: CoreDriver['render'] = async (desired) =>
    renderCore(desired, renderSettings(context.settings))
  const config = createCoreConfig(context, {
    core: 'core_a',
    place: ({ core_a }) => ({
      configDir: core_a.config_dir,
      containers: core_a.containers,
      addresses: core_a.addresses,
    }),
    render,
    daemons: configDaemons,
    probe: (daemon, signal, addresses) => {
      const { settings } = context
      const then = { ...settings, core_a: { ...settings.core_a, addresses } }
      const now = (seams.places ?? corePlaces)(then)
      return probeDaemon(daemon, { ...now, nrfOrigin: now.busOf('nrf') }, signal)
    },
    ues: (technology, signal) => listUes(info, signal, technology),
    engine: withHints(engine),
    ...(seams.limits === undefined ? {} : { limits: seams.limits }),
  })
  const observeParts: ObserveParts = {
    info,
    places,
    daemons: daemonLook(containerStateOf(context, engine, places)),
    appliedSha256: () => config.appliedSha256(),
  }
  const kick = kicker({
    clock,
    info,
    pause,
    cancelLocation: batchCancel(() => context.maybe(hssDriverRef), retiring),
    deregister: (imsi, signal) => deregNotify(places().busOf('amf'), imsi, signal),
    ...(seams.kickLimits === undefined ? {} : { limits: seams.kickLimits }),
  })
  return {
    config,
    places,
    others: () => otherNetworks(info, places().plmn),
    driver: {
      render,
      observe: (signal) => observeCore(observeParts, signal),
      apply: (rendered, signal) => config.apply(rendered, signal),
      kick,
      ues: (signal) => listUes(info, signal),
    },
  }
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

/** An MME or AMF that restarts has forgotten its phones; SMF and SGW keep their sessions and addresses until they restart. */
const STALE_AFTER: Readonly<Partial<Record<Daemon, readonly Daemon[]>>> = {
  sgwc: ['mme'],
  smf: ['mme', 'amf'],
}

/** The state of containers, where the service has an engine to ask. */
function containerStateOf(context: Context, engine: Engine, places: () => CorePlaces): ContainerState {
  return async (daemon, signal) => {
    const container = places().containers[daemon]
    if (context.settings.southbound.driver !== 'container' || container === undefined) return undefined
    try {
      const state = await engine.inspect(container, signal)
      return state?.isRunning === true ? 'up' : 'down'
    } catch {
      signal.throwIfAborted()
      return 'unknown'
    }
  }
}
