import { hkdfSync } from 'node:crypto'
import { join } from 'node:path'
import {
  auditTrailRef,
  type Clock,
  DEFAULT_RATE_LIMITS,
  healthBoardRef,
  nodeIdentityRef,
  policyRef,
  type ServiceInfo,
  serviceInfoRef,
  vaultRef,
} from '@steeple/contracts'
import { lockDataDir } from './composition/data-dir-lock.ts'
import { forwardingEdge } from './composition/forwarding-edge.ts'
import { createHousekeeping } from './composition/housekeeping.ts'
import { createLiveSettings } from './composition/live-settings.ts'
import type { LoadedConfig } from './config/load-config.ts'
import { createHealthBoard } from './health.ts'
import type { Kernel } from './kernel.ts'
import type { KernelLog } from './log.ts'
import { createMetricsBoard } from './metrics.ts'
import { auditAnchor } from './mutation/audit-anchor.ts'
import { auditBeginning } from './mutation/audit-beginning.ts'
import { settleAudit } from './mutation/audit-check.ts'
import { auditSeal } from './mutation/audit-seal.ts'
import { createAuditTrail } from './mutation/audit-trail.ts'
import { createMutations } from './mutation/create-mutations.ts'
import { KERNEL_TABLES, kernelMigrations } from './mutation/kernel-migrations.ts'
import { createOutbox } from './mutation/outbox.ts'
import { hostContracts } from './plugins/contracts-copy.ts'
import { createRegistry } from './plugins/registry.ts'
import { createServiceContainer } from './plugins/service-container.ts'
import { observeProcess } from './process-metrics.ts'
import { createReconcileEngine } from './reconcile/reconcile-engine.ts'
import { createScheduler } from './scheduler.ts'
import type { Secrets } from './secrets/open-secrets.ts'
import { rotateVault } from './secrets/rotate-vault.ts'
import { createVault } from './secrets/vault.ts'
import { openDatabase } from './store/open.ts'
import { systemTimers, type Timers } from './timers.ts'

/** What a kernel is made of. */
export interface KernelOptions {
  readonly config: LoadedConfig
  readonly secrets: Secrets
  readonly log: KernelLog
  readonly clock: Clock
  readonly timers?: Timers
  readonly version: string
  readonly commit?: string
  readonly buildDate?: string
  /** Package folders of the plugins that are part of this build. */
  readonly packages: readonly string[]
}

/**
 * Opens the store and wires the kernel; loads no plugin yet: attach an edge, then `registry.loadAll()`, then `begin`.
 *
 * Throws `data_dir_in_use`, `store_invalid`. What it opened is closed when it throws.
 */
export async function createKernel(options: KernelOptions): Promise<Kernel> {
  const { config, secrets, log, clock, timers = systemTimers() } = options
  const dataDir = config.settings.server.data_dir
  const lock = lockDataDir(dataDir)
  const settings = createLiveSettings(config, log)
  const url =
    config.settings.store.url === '' ? `sqlite:${join(dataDir, 'svc.db')}` : config.settings.store.url
  const db = await openDatabase({ url, clock, log }).catch((error: unknown) => {
    lock.release()
    throw error
  })
  const auditKey = secrets.auditKey
  const anchor = auditAnchor(secrets.directory, auditKey)
  let auditFinding: string | undefined
  try {
    const beginning = auditBeginning({ auditKey, anchor, clock })
    await db.migrate('kernel', kernelMigrations(db.dialect, beginning))
    auditFinding = await settleAudit({ db, seal: auditSeal(auditKey), anchor, clock, log })
  } catch (error) {
    await db.close()
    lock.release()
    throw error
  }
  const vault = createVault(secrets.keyring)
  const metrics = createMetricsBoard(log)
  const stopObserving = observeProcess(metrics.kernel)
  const services = createServiceContainer()
  const outbox = createOutbox({ db })
  const audit = createAuditTrail({ db, clock, auditKey, anchor })
  const reconciler = createReconcileEngine({ clock, timers, log, metrics: metrics.kernel })
  const mutations = createMutations({
    db,
    vault,
    clock,
    auditKey,
    limits: () => limitsOf(services.maybe(policyRef)?.bundle().rate_limits),
    onDirty: (resource, key) => reconciler.enqueue(resource, key),
    onEvents: () => outbox.committed(),
  })
  const health = createHealthBoard({ clock, timers, log, isReady: () => reconciler.isReady })
  const scheduler = createScheduler({ timers, log })
  const forward = forwardingEdge()
  const registry = createRegistry({
    edge: forward.edge,
    db,
    mutations,
    log,
    logOf: (plugin) => log.child({ plugin }),
    clock,
    timers,
    settings,
    metrics,
    reconciler,
    services,
    health,
    sources: {
      packages: options.packages,
      pluginsDir: config.settings.plugins.dir === '' ? join(dataDir, 'plugins') : config.settings.plugins.dir,
    },
    ...hostContracts(),
  })
  const info: ServiceInfo = {
    version: options.version,
    commit: options.commit,
    buildDate: options.buildDate,
    startedAtMs: clock.nowMs(),
    plugins: () =>
      registry
        .list()
        .filter(({ state }) => state === 'running')
        .map(({ name, version }) => ({ name, version })),
  }
  const housekeeping = createHousekeeping({
    db,
    audit,
    mutations,
    secrets,
    clock,
    log,
    scheduler,
    auditFinding,
    tables: () => [...KERNEL_TABLES, ...registry.tables()],
  })
  services.set(
    'kernel',
    new Map<string, object>([
      [vaultRef.id, vault],
      [nodeIdentityRef.id, secrets.identity],
      [auditTrailRef.id, audit],
      [healthBoardRef.id, health],
      [serviceInfoRef.id, info],
    ]),
  )
  health.watch('store', { kind: 'store', required: true }, () => housekeeping.health())
  settings.onChange(() => log.setLevel(settings.current().server.log_level))
  const stopping = new AbortController()
  const inBackground = (failure: string, work: Promise<void>): void => {
    work.catch((error: unknown) => {
      if (!stopping.signal.aborted) log.error({ err: error }, failure)
    })
  }
  /** Finishes what a rotation of the vault key before left half done. */
  const finishRotation = async (): Promise<void> => {
    const tables = [...KERNEL_TABLES, ...registry.tables()]
    const { resealed, kept } = await rotateVault({
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
    await db.close()
    lock.release()
  }
  return {
    get settings() {
      return settings.current()
    },
    log,
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
    get isSettled() {
      return reconciler.isReady && reconciler.isIdle
    },
    cursorSecret: () => new Uint8Array(hkdfSync('sha256', secrets.jwtKey, '', 'steeple list cursors', 32)),
    service: (ref) => services.maybe(ref),
    metricsText: () => metrics.text(),
    metrics: metrics.kernel,
    onSettings: (listener) => {
      settings.onChange(listener)
    },
    attach: (edge) => forward.attach(edge),
    begin: () => {
      health.start()
      scheduler.start()
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
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** The limits by name: `sim_issue` from `sim_issue_per_hour`. */
function limitsOf(perHour: Readonly<Record<string, number>> | undefined): Readonly<Record<string, number>> {
  if (perHour === undefined) return DEFAULT_RATE_LIMITS
  return Object.fromEntries(
    Object.entries(perHour).map(([name, limit]) => [name.replace(/_per_hour$/, ''), limit]),
  )
}
