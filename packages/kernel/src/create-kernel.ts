import { hkdfSync } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Clock,
  type ClockJudge,
  type ComponentHealth,
  type Log,
  type Principal,
  systemPrincipal,
} from '@steeple/contracts'
import { type RotationOptions, type RotationReport, rotateVault, type Secrets } from '@steeple/secrets'
import type { LoadedConfig } from '@steeple/settings'
import { scanMemory } from '@steeple/store'
import type { ClockKeeper, Machine } from './clock/clock-keeper.ts'
import type { Timers } from './clock/deadline.ts'
import { timeText } from './clock/judged-clock.ts'
import { createHousekeeping, type Housekeeping } from './composition/housekeeping.ts'
import { type KernelBase, openKernelBase } from './composition/kernel-base.ts'
import { createPluginHost, type PluginHost } from './composition/plugin-host.ts'
import { createRuntime, type Runtime } from './composition/runtime.ts'
import { createStoreCheck } from './composition/store-check.ts'
import type { HealthPoller } from './health.ts'
import type { Kernel } from './kernel.ts'
import { KERNEL_TABLES } from './mutation/kernel-migrations.ts'
import type { Mutations } from './mutation/mutations.ts'
import { clusterHealth } from './reconcile/cluster.ts'
import { removeStaging } from './state/stage.ts'
import type { KernelLog } from './telemetry/log.ts'

/** SQLite's own check of a large table does not end before its next row of results, ms. */
const ENDS_MS = 1_000

/** Work that nobody waits for while the service runs. */
interface Background {
  /** Fires when it is to end. */
  readonly signal: AbortSignal
  /** `failure` is what the log says when it fails; not after `stop`. */
  run(failure: string, work: Promise<void>): void
  /** Has it end. */
  stop(): void
  /** Waits for its end, but not for long: it should write nothing once it was told to stop. */
  over(): Promise<void>
}

/** Nothing is at work yet. */
function createBackground(log: Log): Background {
  const stopping = new AbortController()
  const { signal } = stopping
  const atWork = new Set<Promise<void>>()
  return {
    signal,
    run: (failure, work) => {
      const ended = work.catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, failure)
      })
      atWork.add(ended)
      void ended.then(() => atWork.delete(ended))
    },
    stop: () => stopping.abort(),
    over: async () => {
      await Promise.race([Promise.all(atWork), delay(ENDS_MS, undefined, { ref: false })])
    },
  }
}

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
  const base = await openKernelBase(options)
  const { clock, store, settings, metrics, tracing, services } = base
  const { db, vault } = store
  const work = createRuntime(options, base)
  const { outbox, audit, reconciler, mutations, health, scheduler } = work
  const host = createPluginHost(options, base, work)
  const { registry, forward, info, replaced } = host
  scheduler.every(REMEMBER_MS, () => store.timekeeper.save(), 'each')
  settings.onChange(() => log.setLevel(settings.current().server.log_level))
  const housekeeping = housekeepingOf(options, base, work, host)
  watchOwn(health, { housekeeping, cluster: base.cluster, timekeeper: store.timekeeper, mutations })
  health.watch('memory', { kind: 'feature', required: false }, async () => registry.memoryHealth())
  const { begin, close } = lifeOf(options, base, work, { registry, housekeeping })
  return {
    get settings() {
      return settings.current()
    },
    log: log.child({ component: 'http' }),
    ...{ tracing, clock, db, mutations, outbox, audit, vault, info, health, registry },
    identity: secrets.identity,
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
    begin,
    reload: async (next) => {
      settings.adopt(next)
      await registry.applySettings()
    },
    replaced,
    quiesce: () => registry.quiesce(),
    close,
  }
}

function housekeepingOf(
  { config, secrets, log }: KernelOptions,
  { clock, store, metrics }: KernelBase,
  { audit, mutations, scheduler }: Runtime,
  { registry }: PluginHost,
): Housekeeping {
  const { db, auditFinding } = store
  const check = createStoreCheck({
    ...{ db, audit, log },
    memory: scanMemory(config.settings.server.data_dir),
    metrics: metrics.kernel,
    tables: () => [...KERNEL_TABLES, ...registry.tables()],
  })
  return createHousekeeping({ db, check, mutations, secrets, clock, log, scheduler, auditFinding })
}

/** How the kernel begins to work, and how it ends. */
function lifeOf(
  { config, log }: KernelOptions,
  { store, cluster, stopObserving }: KernelBase,
  { outbox, reconciler, mutations, health, scheduler }: Runtime,
  {
    registry,
    housekeeping,
  }: Pick<PluginHost, 'registry'> & {
    readonly housekeeping: Housekeeping
  },
): Pick<Kernel, 'begin' | 'close'> {
  const { db, vault, timekeeper } = store
  const background = createBackground(log)
  const { signal } = background
  /** Finishes what a rotation of the vault key before left half done. */
  const finishRotation = async (): Promise<void> => {
    const tables = [...KERNEL_TABLES, ...registry.tables()]
    const rotation = { mutations, db, vault, tables, isResumeOnly: true, signal }
    const { resealed, kept } = await rotateVaultAudited(rotation)
    if (resealed > 0 || kept.length > 0) log.info({ resealed, kept }, 'vault rotation resumed')
  }
  const close = async (): Promise<void> => {
    background.stop()
    stopObserving()
    health.close()
    await registry.stop()
    await scheduler.close()
    await reconciler.close()
    await cluster.close()
    await background.over()
    await timekeeper.save().catch((error: unknown) => log.warn({ err: error }, 'the time was not kept'))
    await store.close()
    removeStaging(config.settings.server.data_dir)
  }
  let closing: Promise<void> | undefined
  return {
    begin: ({ isStoreNew = false } = {}) => {
      health.start()
      scheduler.start()
      background.run('other instances could not be followed', cluster.follow({ reconciler, outbox }))
      background.run('the time was not kept', timekeeper.save())
      // What the scan found is seen at once, not at the next round.
      const scanned = isStoreNew ? db.fileProblems(signal) : housekeeping.scan(signal)
      const scan = scanned.then(() => health.poll())
      background.run('store integrity could not be checked', scan)
      background.run('the rotation of the vault key could not be finished', finishRotation())
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** Has the board ask what is the kernel's own: the store, the instances that share it, the clock. */
function watchOwn(
  health: Pick<HealthPoller, 'watch'>,
  parts: {
    readonly housekeeping: Pick<Housekeeping, 'health'>
    readonly cluster: { view(): Parameters<typeof clusterHealth>[0] }
    readonly timekeeper: ClockKeeper
    readonly mutations: Mutations
  },
): void {
  const { housekeeping, cluster, timekeeper, mutations } = parts
  const feature = { kind: 'feature', required: false } as const
  health.watch('store', { kind: 'store', required: true }, () => housekeeping.health())
  health.watch('cluster', feature, async () => clusterHealth(cluster.view()))
  health.watch('clock', feature, async () => {
    await timekeeper.review(mutations)
    return [clockHealth(timekeeper.view())]
  })
}

/** Who rotates, and where it is written down. */
export interface AuditedRotation extends RotationOptions {
  readonly mutations: Mutations
  readonly principal?: Principal
}

/**
 * As `rotateVault`, with an entry in the audit trail: which key is in use, which are gone, which had to stay. One that
 * fails or is broken off has an entry too, as far as the store takes it. Nothing to finish: no entry.
 */
export async function rotateVaultAudited(options: AuditedRotation): Promise<RotationReport> {
  const { mutations, vault, principal = systemPrincipal('vault') } = options
  const entry = { principal, action: 'vault.rotate', target: 'vault' }
  const before = vault.keyId
  const hadReplaced = vault.keyring.replaced.length > 0
  let report: RotationReport
  try {
    report = await rotateVault(options)
  } catch (error) {
    const detail = { from: before, to: vault.keyId, reason: 'broken off; run svc vault rotate again' }
    await mutations.refuse({ ...entry, outcome: 'failed', detail }).catch(() => undefined)
    throw error
  }
  const { keyId, resealed, retired, kept } = report
  if (keyId === before && !hadReplaced) return report
  await mutations.run({
    ...entry,
    owner: 'kernel',
    work: async (tx) => {
      tx.audit({ detail: { from: before, to: keyId, resealed, retired: [...retired], kept: kept.length } })
      return { status: 204 }
    },
  })
  return report
}

/** The clock as a component: what it says, or why it is not believed and what to do. */
function clockHealth({ machineMs, serviceMs, doubt }: ReturnType<ClockJudge['view']>): ComponentHealth {
  const about = { name: 'clock', kind: 'feature', required: false } as const
  if (doubt === undefined) return { ...about, status: 'ok', detail: 'plausible' }
  const detail =
    `${doubt}. The service goes by ${timeText(serviceMs)}; nothing expires, is removed for its age or is renewed. ` +
    `Set the clock right, or when ${timeText(machineMs)} is right: svc clock confirm`
  return { ...about, status: 'degraded', detail }
}
