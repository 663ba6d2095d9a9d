import { hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { createAuditTrail } from '@steeple/audit'
import { judgeClock, type Machine, systemTimers, type Timers, thisMachine } from '@steeple/clock'
import { type Clock, policyRef, type Tracer, tracerRef } from '@steeple/contracts'
import { hostContracts } from '@steeple/plugin-packages'
import { createReconcileEngine, createScheduler, joinCluster, observeCluster } from '@steeple/reconcile'
import type { Secrets } from '@steeple/secrets'
import type { LoadedConfig } from '@steeple/settings'
import { createMetricsBoard, createTracing, type KernelLog, observeProcess } from '@steeple/telemetry'
import { rotateVaultAudited } from './composition/audited-rotation.ts'
import { earliestOf } from './composition/earliest.ts'
import { forwardingEdge } from './composition/forwarding-edge.ts'
import { createHousekeeping } from './composition/housekeeping.ts'
import { kernelServices } from './composition/kernel-services.ts'
import { createLiveSettings } from './composition/live-settings.ts'
import { meshServices } from './composition/mesh-services.ts'
import { openStore } from './composition/open-store.ts'
import { watchOwn } from './composition/own-health.ts'
import { scanMemory } from './composition/scan-memory.ts'
import { serviceInfo } from './composition/service-info.ts'
import { createStoreCheck } from './composition/store-check.ts'
import { createHealthBoard } from './health.ts'
import { healthNews } from './health-news.ts'
import type { Kernel } from './kernel.ts'
import { createMutations } from './mutation/create-mutations.ts'
import { KERNEL_TABLES } from './mutation/kernel-migrations.ts'
import { createOutbox } from './mutation/outbox.ts'
import { limitsOf } from './mutation/rate-limit.ts'
import { createSubscriptions } from './mutation/subscriptions.ts'
import { createPluginSecrets } from './plugins/plugin-secrets.ts'
import { PluginRegistry } from './plugins/registry.ts'
import { createServiceContainer } from './plugins/service-container.ts'
import { nodeStateOf } from './state/node-state.ts'

/** What a kernel is made of. */
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
}

/**
 * Opens the store and wires the kernel; loads no plugin yet: attach an edge, then `registry.loadAll()`, then `begin`.
 *
 * Throws `data_dir_in_use`, `store_invalid`, `secrets_invalid`. What it opened is closed when it throws.
 */
export async function createKernel(options: KernelOptions): Promise<Kernel> {
  const { config, secrets, log, timers = systemTimers() } = options
  const clock = judgeClock(options.clock)
  const machine = options.machine ?? thisMachine()
  const dataDir = config.settings.server.data_dir
  const mesh = meshServices(secrets, clock)
  const store = await openStore({
    settings: config.settings,
    secrets,
    clock,
    machine,
    earliest: earliestOf(options),
    log,
  })
  const { db, vault, anchor, timekeeper, auditFinding } = store
  const cluster = await joinCluster({
    ...store,
    settings: config.settings,
    machine,
    timers,
    log,
    nowMs: () => clock.nowMs(),
    secrets,
  }).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  const { places } = cluster
  const settings = createLiveSettings(config, log)
  const metrics = createMetricsBoard(log)
  const stopObserving = observeProcess(metrics.kernel)
  observeCluster(metrics.kernel, () => cluster.view())
  const tracing = createTracing()
  const services = createServiceContainer(tracing)
  services.onChange((ids) => {
    // As the ref says.
    if (ids.has(tracerRef.id)) tracing.use(services.current(tracerRef.id) as Tracer | undefined)
  })
  const outbox = createOutbox({ db })
  const audit = createAuditTrail({ db, clock, auditKey: secrets.auditKey, anchor })
  const reconciler = createReconcileEngine({
    clock,
    timers,
    log: log.child({ component: 'reconcile' }),
    tracing,
    metrics: metrics.kernel,
    places,
    elsewhere: (key) => cluster.send(key),
  })
  const mutations = createMutations({
    db,
    vault,
    clock,
    auditKey: secrets.auditKey,
    limits: () => limitsOf(services.maybe(policyRef)?.bundle().rate_limits),
    tracing,
    onDirty: (...dirty) => {
      // What runs elsewhere was left there by the transaction.
      if (cluster.runsHere(reconciler.placeOf(dirty[0]))) reconciler.enqueue(...dirty)
    },
    shared: cluster.shared,
    onEvents: (types) => outbox.committed(types),
  })
  const health = createHealthBoard({
    ...{ clock, timers, log, isReady: () => reconciler.isReady },
    tell: healthNews(clock, mutations),
  })
  const scheduler = createScheduler({ timers, log, places })
  const forward = forwardingEdge()
  const pluginsDir =
    config.settings.plugins.dir === '' ? join(dataDir, 'plugins') : config.settings.plugins.dir
  const registry = new PluginRegistry({
    secrets: createPluginSecrets(db, vault, settings.current),
    edge: forward.edge,
    db,
    mutations,
    log,
    logOf: (plugin) => log.child({ plugin }),
    tracing,
    clock,
    timers,
    settings,
    metrics,
    reconciler,
    events: createSubscriptions({ db, outbox, log }),
    services,
    health,
    places,
    sources: {
      packages: options.packages,
      pluginsDir,
      isSafeMode: options.isSafeMode === true,
    },
    ...hostContracts(),
  })
  const info = serviceInfo(options, registry, () => cluster.view())
  const replaced = Promise.withResolvers<void>()
  const nodeState = nodeStateOf({
    options,
    config,
    pluginsDir,
    db,
    registry,
    restart: () => replaced.resolve(),
  })
  const housekeeping = createHousekeeping({
    db,
    check: createStoreCheck({
      db,
      audit,
      memory: scanMemory(dataDir),
      metrics: metrics.kernel,
      log,
      tables: () => [...KERNEL_TABLES, ...registry.tables()],
    }),
    mutations,
    secrets,
    clock,
    log,
    scheduler,
    auditFinding,
  })
  services.set(
    'kernel',
    kernelServices({
      ...{
        log,
        vault,
        audit,
        health,
        metrics,
        edge: forward.edge,
        timekeeper,
        info,
        nodeState,
        mesh,
        secrets,
        settings,
        registry,
      },
    }),
  )
  watchOwn(health, { housekeeping, cluster, timekeeper, mutations })
  scheduler.every(REMEMBER_MS, () => timekeeper.save(), 'each')
  settings.onChange(() => log.setLevel(settings.current().server.log_level))
  const stopping = new AbortController()
  const atWork = new Set<Promise<void>>()
  const inBackground = (failure: string, work: Promise<void>): void => {
    const ended = work.catch((error: unknown) => {
      if (!stopping.signal.aborted) log.error({ err: error }, failure)
    })
    atWork.add(ended)
    void ended.then(() => atWork.delete(ended))
  }
  /** Finishes what a rotation of the vault key before left half done. */
  const finishRotation = async (): Promise<void> => {
    const tables = [...KERNEL_TABLES, ...registry.tables()]
    const { resealed, kept } = await rotateVaultAudited({
      mutations,
      db,
      vault,
      tables,
      isResumeOnly: true,
      signal: stopping.signal,
    })
    if (resealed > 0 || kept.length > 0) log.info({ resealed, kept }, 'vault rotation resumed')
  }
  let closing: Promise<void> | undefined
  const close = async (): Promise<void> => {
    stopping.abort()
    stopObserving()
    health.close()
    await registry.stop()
    await scheduler.close()
    await reconciler.close()
    await cluster.close()
    // What began in the background ends at the signal and should write nothing once this is over.
    await Promise.race([Promise.all(atWork), delay(BACKGROUND_ENDS_MS, undefined, { ref: false })])
    await timekeeper.save().catch((error: unknown) => log.warn({ err: error }, 'the time was not kept'))
    await store.close()
  }
  return {
    get settings() {
      return settings.current()
    },
    log: log.child({ component: 'http' }),
    tracing,
    clock,
    db,
    mutations,
    outbox,
    audit,
    vault,
    identity: secrets.identity,
    info,
    health,
    registry,
    watchHealth: (owner, check) => health.watch(owner, { kind: 'feature', required: false }, check),
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
    attach: (edge) => forward.attach(edge),
    begin: () => {
      health.start()
      scheduler.start()
      inBackground('other instances could not be followed', cluster.follow({ reconciler, outbox }))
      inBackground('the time was not kept', timekeeper.save())
      // What the scan found is seen at once, not at the next round.
      inBackground(
        'store integrity could not be checked',
        housekeeping.scan(stopping.signal).then(() => health.poll()),
      )
      inBackground('the rotation of the vault key could not be finished', finishRotation())
    },
    reload: async (next) => {
      settings.adopt(next)
      await registry.applySettings()
    },
    replaced: replaced.promise,
    quiesce: () => registry.quiesce(),
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** SQLite's own check of a large table does not end before its next row of results, ms. */
const BACKGROUND_ENDS_MS = 1_000
/** How often the time is written down that the next start measures the machine's clock against. */
const REMEMBER_MS = 600_000
