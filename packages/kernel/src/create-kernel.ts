import { hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type AuditTrail,
  type Clock,
  type ClockJudge,
  type ComponentHealth,
  type HealthBoard,
  type Launcher,
  type Log,
  type NodeIdentity,
  policyRef,
  type ServiceInfo,
  type ServiceRef,
  type Settings,
  stateTeller,
  type Tracer,
  tracerRef,
  type Vault,
} from '@steeple/contracts'
import type { Secrets } from '@steeple/secrets'
import type { LoadedConfig, SettingInForce } from '@steeple/settings'
import { type Database, scanMemory } from '@steeple/store'
import { createAuditTrail } from './audit/audit-trail.ts'
import { type Earliest, type Machine, thisMachine } from './clock/clock-keeper.ts'
import { systemTimers, type Timers } from './clock/deadline.ts'
import { judgeClock, timeText } from './clock/judged-clock.ts'
import { fileOfStore } from './composition/data-dir-lock.ts'
import { createHousekeeping, type Housekeeping, rotateVaultAudited } from './composition/housekeeping.ts'
import { forwardingEdge, kernelServices, serviceInfo } from './composition/kernel-services.ts'
import { createLiveSettings } from './composition/live-settings.ts'
import { openStore } from './composition/open-store.ts'
import { createStoreCheck } from './composition/store-check.ts'
import { createHealthBoard } from './health.ts'
import { createMutations, limitsOf } from './mutation/create-mutations.ts'
import { KERNEL_TABLES } from './mutation/kernel-tables.ts'
import type { Mutations, Outbox } from './mutation/mutations.ts'
import { createOutbox, createSubscriptions } from './mutation/outbox.ts'
import { hangNoteOf } from './plugin-packages/blame.ts'
import { hostContracts } from './plugin-packages/loader.ts'
import type { HttpEdge } from './plugins/host.ts'
import { createPluginSecrets } from './plugins/plugin-secrets.ts'
import { PluginRegistry } from './plugins/registry.ts'
import { createServiceContainer } from './plugins/service-container.ts'
import { clusterHealth, joinCluster, observeCluster } from './reconcile/cluster.ts'
import { ReconcileEngine } from './reconcile/reconcile-engine.ts'
import { createReasons, createScheduler, type Scheduler } from './reconcile/scheduler.ts'
import { createNodeState, removeStaging } from './state/node-state.ts'
import type { KernelLog } from './telemetry/log.ts'
import { createMetricsBoard, type KernelMetrics, observeProcess } from './telemetry/metrics.ts'
import { createTracing, type Tracing } from './telemetry/tracing.ts'

export interface KernelOptions {
  readonly config: LoadedConfig
  readonly secrets: Secrets
  readonly log: KernelLog
  readonly clock: Clock
  readonly timers?: Timers
  /** What is known of time beside `clock`; this machine when absent. */
  readonly machine?: Machine
  readonly version: string
  readonly commit?: string
  readonly buildDate?: string
  /** Package folders of the plugins that are part of this build. */
  readonly packages: readonly string[]
  /** Leaves every installed plugin alone: for a service that one of them keeps from working. */
  readonly isSafeMode?: boolean
  /** What has started the process; absent: nothing that would run another build. */
  readonly launchedBy?: Omit<Launcher, 'relaunch'>
  /** Has the process ended when its event loop does not turn any more, with a note in that file; called before installed code runs. */
  readonly watchLoop?: (note: string) => void
}

/** How often the time is written down that the next start measures the machine's clock against. */
const REMEMBER_MS = 600_000

/**
 * Opens the store and wires the kernel; loads no plugin yet: attach an edge, then `registry.loadAll()`, then `begin`.
 *
 * Throws `data_dir_in_use`, `store_invalid`, `secrets_invalid`. What it opened is closed when it throws.
 */
export async function createKernel(options: KernelOptions): Promise<Kernel> {
  const { secrets, log } = options
  const base = await openBase(options)
  const { clock, store, cluster, settings, metrics, tracing, services, reasons, timers } = base
  const { db, vault } = store
  const work = createWork(options, base)
  const { outbox, audit, reconciler, mutations, health } = work
  const scheduler = createScheduler({ timers, log, placement: cluster.placement, reasons })
  const { registry, attach, info, replaced } = createPlugins(options, base, work)
  const check = createStoreCheck({
    ...{ db, audit, log },
    memory: scanMemory(options.config.settings.server.data_dir),
    metrics: metrics.kernel,
    tables: () => [...KERNEL_TABLES, ...registry.tables()],
  })
  const housekeeping = createHousekeeping({ store, check, mutations, secrets, clock, log, scheduler })
  scheduler.every(REMEMBER_MS, () => store.timekeeper.save(), 'each')
  settings.onChange(() => log.setLevel(settings.current().server.log_level))
  health.watch('store', { kind: 'store', required: true }, () => housekeeping.health())
  health.watch('cluster', FEATURE, async () => clusterHealth(cluster.view()))
  health.watch('memory', FEATURE, async () => registry.memoryHealth())
  health.watch('clock', FEATURE, async () => {
    await store.timekeeper.review(mutations)
    return [clockHealth(store.timekeeper.view())]
  })
  return {
    get settings() {
      return settings.current()
    },
    log: log.child({ component: 'http' }),
    ...{ tracing, clock, db, mutations, outbox, audit, vault, info, health, registry, attach, replaced },
    identity: secrets.identity,
    watchHealth: (owner, check) => health.watch(owner, FEATURE, check),
    get isSettled() {
      return reconciler.isReady && reconciler.isIdle
    },
    cursorSecret: () => new Uint8Array(hkdfSync('sha256', secrets.jwtKey, '', 'steeple list cursors', 32)),
    service: (ref) => services.maybe(ref),
    metricsText: () => metrics.text(),
    metricsRevision: () => metrics.revision,
    features: settings.features,
    settingsInForce: settings.inForce,
    metrics: metrics.kernel,
    onSettings: (listener) => void settings.onChange(listener),
    reload: async (next) => {
      settings.adopt(next)
      await registry.applySettings()
    },
    quiesce: () => registry.quiesce(),
    ...lifeOf(options, base, { ...work, scheduler, registry, housekeeping }),
  }
}

const FEATURE = { kind: 'feature', required: false } as const

type Base = Awaited<ReturnType<typeof openBase>>
type Work = ReturnType<typeof createWork>

/** What everything else stands on: time, the store, the instances that share it, the configuration, what is measured. */
async function openBase(options: KernelOptions) {
  const { config, secrets, log, timers = systemTimers(), machine = thisMachine() } = options
  const clock = judgeClock(options.clock)
  /** What all schedules hear of. */
  const reasons = createReasons()
  const moved = reasons.tell
  const opening = { settings: config.settings, secrets, log, clock, machine, moved }
  const store = await openStore({ ...opening, earliest: earliestOf(options) })
  const nowMs = (): number => clock.nowMs()
  const joining = joinCluster({ ...opening, ...store, timers, nowMs })
  const cluster = await joining.catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  cluster.onTerm(reasons.tell)
  const settings = createLiveSettings(config, log)
  settings.onChange(reasons.tell)
  const metrics = createMetricsBoard(log)
  observeCluster(metrics.kernel, () => cluster.view())
  const tracing = createTracing()
  const services = createServiceContainer(tracing)
  services.onChange((ids) => {
    // As the ref says.
    if (ids.has(tracerRef.id)) tracing.use(services.current(tracerRef.id) as Tracer | undefined)
  })
  const stopObserving = observeProcess(metrics.kernel)
  return { clock, timers, store, cluster, reasons, settings, metrics, tracing, services, stopObserving }
}

/** No clock is right that says a time before these. */
function earliestOf({ buildDate, secrets }: KernelOptions): readonly Earliest[] {
  const builtMs = Date.parse(buildDate ?? '')
  const made = { ms: secrets.identity.createdAtMs, of: 'the making of this node' }
  return Number.isNaN(builtMs) ? [made] : [made, { ms: builtMs, of: 'the build of this version' }]
}

/** How something comes to be: by a mutation, by a reconciler; and how it is seen to be well. Nothing runs yet. */
function createWork({ secrets, log }: KernelOptions, base: Base) {
  const { clock, timers, store, cluster, metrics, tracing, services } = base
  const { db, vault, anchor } = store
  const { auditKey } = secrets
  const outbox = createOutbox({ db })
  const reconciler = new ReconcileEngine({
    ...{ clock, timers, tracing, placement: cluster.placement },
    log: log.child({ component: 'reconcile' }),
    metrics: metrics.kernel,
    elsewhere: (key) => cluster.send(key),
  })
  const mutations = createMutations({
    ...{ db, vault, clock, auditKey, tracing, shared: cluster.shared },
    limits: () => limitsOf(services.maybe(policyRef)?.bundle().rate_limits),
    // What runs elsewhere was left there by the transaction.
    onDirty: reconciler.enqueueHere,
    onEvents: (types) => outbox.committed(types),
  })
  /** In the stream of events. One that was never told of was well; while the store takes no events they wait. */
  const tell = stateTeller(clock, 'ok', (changes) =>
    mutations.observe('kernel', async (tx) => {
      for (const { key, state, was } of changes)
        tx.event({ type: `health.${state}`, subject: key, data: { status: state, was } })
    }),
  )
  const isReady = (): boolean => reconciler.isReady
  const health = createHealthBoard({ clock, timers, log, isReady, tell: (states) => void tell(states) })
  const audit = createAuditTrail({ db, clock, auditKey, anchor })
  return { outbox, audit, reconciler, mutations, health }
}

/** What of a node another one has taken the place of. */
type Replaced = 'state' | 'build'

/** The registry, which loads nothing yet, and what the kernel provides to plugins. */
function createPlugins(options: KernelOptions, base: Base, work: Work) {
  const { config, secrets, log } = options
  const { clock, timers, store, cluster, reasons, settings, metrics, tracing, services } = base
  const { outbox, audit, reconciler, mutations, health } = work
  const { db, vault } = store
  const { data_dir: dataDir } = config.settings.server
  const pluginsDir = config.settings.plugins.dir || join(dataDir, 'plugins')
  const { edge, attach } = forwardingEdge()
  const registry = new PluginRegistry({
    ...{ edge, db, mutations, log, tracing, clock, timers, settings, metrics, reconciler, services, health },
    ...{ placement: cluster.placement, reasons },
    secrets: createPluginSecrets(db, vault, settings.current),
    logOf: (plugin) => log.child({ plugin }),
    events: createSubscriptions({ db, outbox, log }),
    watchLoop: () => options.watchLoop?.(hangNoteOf(pluginsDir)),
    sources: { packages: options.packages, pluginsDir, isSafeMode: options.isSafeMode === true },
    ...hostContracts(),
  })
  const info = serviceInfo(options, registry, () => cluster.view())
  const replaced = Promise.withResolvers<Replaced>()
  const nodeState = createNodeState({
    ...{ dataDir, pluginsDir, db, secrets, clock: options.clock, version: options.version },
    keysDir: secrets.directory,
    storeFile: fileOfStore(config.settings),
    identity: secrets.identity,
    plugins: () => registry.plugins(),
    restart: () => replaced.resolve('state'),
  })
  const relaunch = (): void => replaced.resolve('build')
  services.set(
    'kernel',
    kernelServices({
      ...{
        options,
        clock,
        store,
        settings,
        metrics,
        registry,
        edge,
        audit,
        health,
        info,
        nodeState,
        relaunch,
      },
    }),
  )
  return { registry, attach, info, replaced: replaced.promise }
}

/** SQLite's own check of a large table does not end before its next row of results, ms. */
const ENDS_MS = 1_000

/** How the kernel begins to work, and how it ends. */
function lifeOf(
  { config, log }: KernelOptions,
  { store, cluster, stopObserving }: Base,
  parts: Work & {
    readonly scheduler: Scheduler
    readonly registry: PluginRegistry
    readonly housekeeping: Housekeeping
  },
): Pick<Kernel, 'begin' | 'close'> {
  const { outbox, reconciler, mutations, health, scheduler, registry, housekeeping } = parts
  const { db, vault, timekeeper } = store
  const stopping = new AbortController()
  const { signal } = stopping
  const atWork: Promise<void>[] = []
  /** Nobody waits for it while the service runs. `failure` is what the log says when it fails before the end. */
  const inBackground = (failure: string, work: Promise<void>): void => {
    const ended = work.catch((error: unknown) => {
      if (!signal.aborted) log.error({ err: error }, failure)
    })
    atWork.push(ended)
  }
  /** Finishes what a rotation of the vault key before left half done. */
  const finishRotation = async (): Promise<void> => {
    const tables = [...KERNEL_TABLES, ...registry.tables()]
    const rotation = { mutations, db, vault, tables, isResumeOnly: true, signal }
    const { resealed, kept } = await rotateVaultAudited(rotation)
    if (resealed > 0 || kept.length > 0) log.info({ resealed, kept }, 'vault rotation resumed')
  }
  const close = async (): Promise<void> => {
    stopping.abort()
    stopObserving()
    health.close()
    await registry.stop()
    await scheduler.close()
    await reconciler.close()
    await cluster.close()
    // Not for long: it writes nothing once it was told to stop.
    await Promise.race([Promise.all(atWork), delay(ENDS_MS, undefined, { ref: false })])
    await timekeeper.save().catch((error: unknown) => log.warn({ err: error }, 'the time was not kept'))
    await store.close()
    removeStaging(config.settings.server.data_dir)
  }
  let closing: Promise<void> | undefined
  return {
    begin: ({ isStoreNew = false } = {}) => {
      health.start()
      scheduler.start()
      inBackground('other instances could not be followed', cluster.follow({ reconciler, outbox }))
      inBackground('the time was not kept', timekeeper.save())
      // What the scan found is seen at once, not at the next round.
      const scanned = isStoreNew ? db.fileProblems(signal) : housekeeping.scan(signal)
      inBackground(
        'store integrity could not be checked',
        scanned.then(() => health.poll()),
      )
      inBackground('the rotation of the vault key could not be finished', finishRotation())
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** The clock as a component: what it says, or why it is not believed and what to do. */
function clockHealth({ machineMs, serviceMs, doubt }: ReturnType<ClockJudge['view']>): ComponentHealth {
  const about = { name: 'clock', kind: 'feature', required: false, incident: 'clock_wrong' } as const
  if (doubt === undefined) return { ...about, status: 'ok', detail: 'plausible' }
  const detail =
    `${doubt}. The service goes by ${timeText(serviceMs)}; nothing expires, is removed for its age or is renewed. ` +
    `Set the clock right, or when ${timeText(machineMs)} is right: svc clock confirm`
  return { ...about, status: 'degraded', detail }
}

/** The running kernel: what the edge and the composition root may use. */
export interface Kernel {
  readonly settings: Settings
  /** The edge's log: its lines are of the component `http`. */
  readonly log: Log & Pick<KernelLog, 'plain'>
  /** Traces of what is done, where a plugin keeps them. */
  readonly tracing: Tracing
  readonly clock: Clock
  readonly db: Database
  readonly mutations: Mutations
  readonly outbox: Outbox
  readonly audit: AuditTrail
  readonly vault: Vault
  readonly identity: NodeIdentity
  readonly info: ServiceInfo
  readonly health: HealthBoard
  /** Has `check` asked with the others, for what belongs to no plugin; its components are called as the owner or begin so. */
  watchHealth(owner: string, check: () => Promise<readonly ComponentHealth[]>): void
  readonly registry: PluginRegistry
  /** Whether the first reconcile pass is over and no reconcile runs or is due now. */
  readonly isSettled: boolean
  /** The service as long as somebody provides it. */
  service<T extends object>(ref: ServiceRef<T>): T | undefined
  /** The text exposition of all metric registries (kernel's and every live plugin's). */
  metricsText(): Promise<string>
  /** Grows whenever a plugin's metrics come, go or are exchanged: a text from before is not to be shown any more. */
  metricsRevision(): number
  /** What routes of plugins begin with, and whose they are; also of plugins that are not here. */
  features(): readonly { readonly prefix: string; readonly plugin: string }[]
  /** Every key of the configuration, what is in force of it and how it is set; values without secrets. */
  settingsInForce(): readonly SettingInForce[]
  /** Runs after each change of `settings` (SIGHUP). */
  onSettings(listener: () => void): void
  /** The kernel's own metric registry, for the edge's series. */
  readonly metrics: KernelMetrics
  /** 32 secret bytes for the signatures of list cursors; the same after each start. */
  cursorSecret(): Uint8Array
  /** Connects the HTTP edge; call before loading plugins. */
  attach(edge: HttpEdge): void
  /**
   * Lets periodic work, health checks and the first integrity scan begin; call when the edge listens. `isStoreNew`: nothing was in the
   * store before this start, so there is nothing to scan before tomorrow.
   */
  begin(options?: { readonly isStoreNew?: boolean }): void
  /** Puts another configuration in force as far as that goes without a restart (SIGHUP). */
  reload(next: LoadedConfig): Promise<void>
  /**
   * Resolves when another state was put in the place of this one: end the service, `completeRestore`, start anew; or when the launcher is
   * to run another build: end the process.
   */
  readonly replaced: Promise<Replaced>
  /**
   * Ends what plugins do in the world (a transmitter), before anything that an end of the service waits for. Call it first,
   * then close the edge, then `close`.
   */
  quiesce(): Promise<void>
  /** Stops everything in order: routes drained, plugins stopped, store closed. */
  close(): Promise<void>
}
