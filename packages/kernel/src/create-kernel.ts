import { hkdfSync } from 'node:crypto'
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
  type Principal,
  type ServiceInfo,
  type ServiceRef,
  type Settings,
  systemPrincipal,
  type Vault,
} from '@steeple/contracts'
import { type RotationOptions, type RotationReport, rotateVault, type Secrets } from '@steeple/secrets'
import type { LoadedConfig, SettingInForce } from '@steeple/settings'
import { type Database, DISK_IS_FULL, type IntegrityProblem, scanMemory } from '@steeple/store'
import type { ClockKeeper, Machine } from './clock/clock-keeper.ts'
import type { Timers } from './clock/deadline.ts'
import { timeText } from './clock/judged-clock.ts'
import { type KernelBase, openKernelBase } from './composition/kernel-base.ts'
import { createPluginHost, createRuntime, type PluginHost, type Runtime } from './composition/plugin-host.ts'
import { createStoreCheck, type StoreCheck } from './composition/store-check.ts'
import type { HealthPoller } from './health.ts'
import { KERNEL_TABLES } from './mutation/idempotency.ts'
import type { Mutations, Outbox } from './mutation/mutations.ts'
import type { HttpEdge } from './plugins/host.ts'
import type { PluginRegistry } from './plugins/registry.ts'
import { clusterHealth } from './reconcile/cluster.ts'
import type { Scheduler } from './reconcile/scheduler.ts'
import { removeStaging } from './state/stage.ts'
import type { KernelLog } from './telemetry/log.ts'
import type { KernelMetrics } from './telemetry/metrics.ts'
import type { Tracing } from './telemetry/tracing.ts'

const SWEEP_MS = 600_000
const INTEGRITY_MS = 86_400_000
const CERTIFICATE_MS = 3_600_000
/** How long a failed write shows after small ones hold again: on a full disk those still find room, ms. */
const REFUSED_MS = 6_000

interface HousekeepingOptions {
  readonly db: Database
  readonly check: StoreCheck
  readonly mutations: Mutations
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Log
  readonly scheduler: Scheduler
  /** What the start found wrong with the audit trail: shown until the first scan has looked at all of it. */
  readonly auditFinding: string | undefined
}

interface Housekeeping {
  /** Looks at every row and at the file once; the finding shows in `health`. */
  scan(signal: AbortSignal): Promise<void>
  /** The store as a component: whether it answers, and what the last scan found. */
  health(): Promise<readonly ComponentHealth[]>
}

/** Plans the work on `scheduler`: sweeping every 10 min, integrity daily, the node's certificate hourly. */
function createHousekeeping(options: HousekeepingOptions): Housekeeping {
  const { db, check, mutations, secrets, clock, log, scheduler } = options
  let finding =
    options.auditFinding === undefined ? undefined : `kernel_audit: ${options.auditFinding}; restore a backup`
  let refused = { count: 0, untilMs: 0 }
  const lately = (): string | undefined => {
    const { count, last } = db.writeFailures()
    if (count > refused.count) refused = { count, untilMs: clock.nowMs() + REFUSED_MS }
    return clock.nowMs() < refused.untilMs ? `writes have just failed: ${last}` : undefined
  }
  let scannedMs = Number.NEGATIVE_INFINITY
  const scan = async (signal: AbortSignal): Promise<void> => {
    scannedMs = clock.monotonicMs()
    const problems = await check.run(signal)
    const first = problems[0]
    finding =
      first === undefined
        ? undefined
        : `${problems.length} problem(s) in ${tablesOf(problems)}, the first: ${first.reason}; restore a backup`
  }
  scheduler.every(SWEEP_MS, () => mutations.sweep())
  scheduler.every(INTEGRITY_MS, async (signal) => {
    // What wakes schedules is no reason to read the whole store again.
    if (clock.monotonicMs() - scannedMs >= INTEGRITY_MS / 2) await scan(signal)
  })
  scheduler.every(CERTIFICATE_MS, () => renewWhenDue(secrets, clock, log), 'each')
  return {
    scan,
    health: async () => {
      const silence = await db.probe()
      const recent = lately()
      const refusal = (await refusalOf(db)) ?? recent
      const isDown = silence !== undefined || finding !== undefined
      const status = isDown ? 'down' : refusal === undefined ? 'ok' : 'degraded'
      const under = check.progress()
      const detail =
        silence ?? finding ?? refusal ?? `${db.dialect} answers${under === undefined ? '' : `; ${under}`}`
      // Who writes sees it before the disk is looked at, and on one that still has room for others.
      const isFull = status === 'degraded' && detail.includes(DISK_IS_FULL)
      const incident = isFull ? 'disk_full' : 'store_gone'
      return [{ name: 'store', kind: 'store', status, detail, required: true, incident }]
    },
  }
}

function tablesOf(problems: readonly IntegrityProblem[]): string {
  return [...new Set(problems.map(({ table }) => table))].join(', ')
}

/** Written and taken back, so that it costs the store a page and leaves no row. */
const TRY_WRITE = `insert into kernel_rate (name, started_at_ms, used, row_sum) values ('trying to write', 0, 0, 0)`
const TAKE_BACK = `delete from kernel_rate where name = 'trying to write'`

/** Why the store takes no writes; undefined when it does. Where the last one failed another is tried. */
async function refusalOf(db: Database): Promise<string | undefined> {
  if (db.writeTrouble() === undefined) return undefined
  try {
    await db.transact(async (tx) => {
      await tx.run(TRY_WRITE)
      await tx.run(TAKE_BACK)
    })
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return db.writeTrouble()
}

/** Renews the node's own certificate in the second half of its life; not by a clock that is not believed. */
async function renewWhenDue(secrets: Secrets, clock: Clock, log: Log): Promise<void> {
  if (clock.doubt?.() !== undefined) return
  // X.509 writing is needed once in weeks; it stays out of memory until then.
  const { renewNodeCertificate } = await import('@steeple/secrets')
  if (!(await renewNodeCertificate(secrets, clock))) return
  log.info(
    { expires_at: new Date(secrets.identity.certificateExpiresAtMs).toISOString() },
    'node certificate renewed',
  )
}

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
  const about = { name: 'clock', kind: 'feature', required: false, incident: 'clock_wrong' } as const
  if (doubt === undefined) return { ...about, status: 'ok', detail: 'plausible' }
  const detail =
    `${doubt}. The service goes by ${timeText(serviceMs)}; nothing expires, is removed for its age or is renewed. ` +
    `Set the clock right, or when ${timeText(machineMs)} is right: svc clock confirm`
  return { ...about, status: 'degraded', detail }
}

/** How the work of a kernel begins. */
interface BeginOptions {
  /** Nothing was in the store before this start, so there is nothing to scan before tomorrow. */
  readonly isStoreNew?: boolean
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
  /** Lets periodic work, health checks and the first integrity scan begin; call when the edge listens. */
  begin(options?: BeginOptions): void
  /** Puts another configuration in force as far as that goes without a restart (SIGHUP). */
  reload(next: LoadedConfig): Promise<void>
  /**
   * Resolves when another state was put in the place of this one: end the service, `completeRestore`, start anew; or when the launcher is
   * to run another build: end the process.
   */
  readonly replaced: PluginHost['replaced']
  /**
   * Ends what plugins do in the world (a transmitter), before anything that an end of the service waits for. Call it first,
   * then close the edge, then `close`.
   */
  quiesce(): Promise<void>
  /** Stops everything in order: routes drained, plugins stopped, store closed. */
  close(): Promise<void>
}
