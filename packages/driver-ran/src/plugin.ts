import { resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import {
  type Context,
  type CoreObserved,
  coreDriverRef,
  type Instance,
  type Plugin,
  pageRoutes,
  type RanDriver,
  ranDriverRef,
  type Settings,
  stateNews,
  type Transmitter,
  transmitterRef,
  txGateRef,
} from '@steeple/contracts'
import { devicesRoute } from './devices/devices-route.ts'
import { externalInstance, openAgain } from './external/external-plugin.ts'
import { machineHints } from './process/preflight.ts'
import { coreView, radioHealth, radioMetrics, unconfiguredHealth } from './radio-health.ts'
import { RADIO_KEY, RADIO_RESOURCE, radioReconciler, ranDriver } from './ran-driver.ts'
import type { RadioState } from './supervisor/radio-state.ts'
import { Supervisor } from './supervisor/supervisor.ts'
import { watchGnbMetrics } from './watch/gnb-metrics.ts'

/** How often the core is asked what it sees, and how long that may take, ms. */
const CORE_LOOK_MS = 10_000
const CORE_BOUND_MS = 4_000
/** A reload that changed settings ask for has come by then, or comes no more, ms. */
const RELOAD_MS = 30_000

/** Supervises the eNB or gNB of this node: on air only while the TX gate permits it. */
export const plugin: Plugin = {
  doctor: ({ settings: { ran } }) =>
    ran.binary === '' || ran.program === 'external'
      ? []
      : [
          { name: 'radio', program: ran.binary, key: 'ran.binary' },
          // It takes the radio's rights away.
          { name: 'radio', program: 'setpriv', key: 'PATH: install util-linux' },
        ],
  setup: async (context: Context): Promise<Instance> => {
    const routes = [devicesRoute(context, '/'), ...pageRoutes(import.meta.url, '/driver-ran-files')]
    if (context.settings.ran.program === 'external') return externalInstance(context, routes)
    const { log } = context
    const { ran, server } = context.settings
    const isConfigured = ran.binary !== ''
    const metrics = radioMetrics(context.metrics)
    const wake = (): void => {
      context.enqueue(RADIO_RESOURCE, RADIO_KEY)
      tell(supervisor.snapshot().state)
    }
    const tell = stateNews<RadioState>(context, 'off', ({ state, was }) => ({
      ...{ type: 'ran.state', subject: 'ran' },
      data: { state, was },
    }))
    const supervisor = new Supervisor({
      context,
      directory: resolve(server.data_dir, 'ran'),
      events: {
        wake,
        started: ({ profileId, isVirtual, command }) => {
          metrics.started()
          log.info({ profile: profileId, isVirtual, program: command.program }, 'radio started')
          if (command.program === 'gnb') gnb.watch()
        },
        exited: (kind, reason) => {
          gnb.end()
          metrics.exited(kind)
          if (kind === 'stopped') log.info({ kind }, 'radio stopped')
          else log.warn({ kind, reason }, 'radio ended')
        },
        stopped: (seconds) => metrics.stopped(seconds),
      },
    })
    const gnb = gnbWatch(ran.remote_control_port, supervisor)
    const seen = coreWatch(context, supervisor, isConfigured)
    context.onChange(txGateRef, wake)
    const reloads = reloadingKeys(context.settings)
    context.onSettings(() => {
      // A new copy of this plugin comes: the radio must not be started by this one on the way.
      if (isDeepStrictEqual(reloads, reloadingKeys(context.settings))) supervisor.reconsider()
      else supervisor.beStill(RELOAD_MS)
    })
    const driver = ranDriver(context, supervisor, isConfigured)
    const transmitter: Transmitter = { stop: () => supervisor.stop(), isSilent: () => supervisor.isSilent() }
    return {
      routes,
      reconcilers: [
        radioReconciler(supervisor, isConfigured, (snapshot) => {
          metrics.show(snapshot)
          tell(snapshot.state)
        }),
      ],
      services: new Map<string, RanDriver | Transmitter>([
        [ranDriverRef.id, driver],
        [transmitterRef.id, transmitter],
      ]),
      // Before anything else: nothing of an earlier run may be on air. When it cannot be ended, each step tries again.
      start: async () => {
        await supervisor.sweep().catch((error: unknown) => log.error({ err: error }, 'orphaned radio'))
        await openAgain(context, resolve(server.data_dir, 'ran'))
      },
      quiesce: () => supervisor.close(),
      stop: () => supervisor.close(),
      health: async () => {
        if (isConfigured) await supervisor.refresh()
        const snapshot = supervisor.snapshot()
        return [
          isConfigured || snapshot.leftBehind !== undefined
            ? radioHealth({ snapshot, ...seen() })
            : unconfiguredHealth((await context.use(txGateRef).state()).armed, seen().core),
        ]
      },
    }
  },
}

/** Follows what a gNB reports of itself while it runs. */
function gnbWatch(port: number, supervisor: Supervisor): { watch(): void; end(): void } {
  let watching = new AbortController()
  return {
    watch: () => {
      watching = new AbortController()
      const { running } = supervisor
      void watchGnbMetrics(
        port,
        (event) => {
          if (supervisor.running === running) running?.process.note(event)
        },
        watching.signal,
      )
    },
    end: () => watching.abort(),
  }
}

/** What the core and this machine were last seen to say of the radio. */
interface LastState {
  readonly disagreement: string | undefined
  readonly hints: readonly string[]
  readonly core: CoreObserved | undefined
}

/** Asks the core now and then, and restarts a radio that it does not know. */
function coreWatch(context: Context, supervisor: Supervisor, isConfigured: boolean): () => LastState {
  const view = coreView()
  let seen: LastState = { disagreement: undefined, hints: [], core: undefined }
  let wasConnected = false
  context.every(
    CORE_LOOK_MS,
    async (signal) => {
      const isConnected = supervisor.snapshot().facts?.isConnected === true
      wasConnected ||= isConnected
      const limited = AbortSignal.any([signal, AbortSignal.timeout(CORE_BOUND_MS)])
      const isAsked = isConnected || !isConfigured
      const core = isAsked ? await lookAtCore(context, limited) : undefined
      const { disagreement, isRestartDue } = view(isConnected, core, context.clock.monotonicMs())
      seen = { disagreement, hints: isConfigured ? machineHints(wasConnected) : [], core }
      if (isRestartDue) await supervisor.restart('the core does not know a radio that says it is connected')
    },
    'machine',
  )
  return () => seen
}

/** The settings whose change brings a new copy of this plugin: all of `ran` but the profiles. */
function reloadingKeys({ ran }: Pick<Settings, 'ran'>): Partial<Settings['ran']> {
  const { profiles: _, ...reloading } = ran
  return reloading
}

/** What the core sees; undefined when there is none or it does not answer. */
async function lookAtCore(
  context: Pick<Context, 'maybe'>,
  signal: AbortSignal,
): Promise<CoreObserved | undefined> {
  try {
    return await context.maybe(coreDriverRef)?.observe(signal)
  } catch {
    return undefined // its own health says why
  }
}
