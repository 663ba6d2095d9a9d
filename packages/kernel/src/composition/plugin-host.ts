import { hkdfSync, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import {
  type AuditTrail,
  auditTrailRef,
  type Clock,
  type ClockJudge,
  type ClosedItems,
  type ComponentState,
  clockJudgeRef,
  closedItemsRef,
  createTurns,
  type HealthBoard,
  healthBoardRef,
  type InstanceView,
  type Introspection,
  introspectionRef,
  launcherRef,
  logControlRef,
  metricsReaderRef,
  type NodeState,
  nodeCaRef,
  nodeCredentialsRef,
  nodeIdentityRef,
  nodeStateRef,
  type OwnRoutes,
  ownRoutesRef,
  policyRef,
  type ServiceInfo,
  type SessionKeys,
  serviceInfoRef,
  sessionKeysRef,
  stateTeller,
  type Vault,
  vaultRef,
} from '@steeple/contracts'
import { openNodeCa, openNodeCredentials, type Secrets } from '@steeple/secrets'
import type { LoadedConfig } from '@steeple/settings'
import { closedItems, type Database } from '@steeple/store'
import { createAuditTrail, type PacedAuditTrail } from '../audit/audit-trail.ts'
import type { KernelOptions } from '../create-kernel.ts'
import { createHealthBoard, type HealthPoller } from '../health.ts'
import { createLimits, createMutations } from '../mutation/create-mutations.ts'
import type { Mutations } from '../mutation/mutations.ts'
import { createOutbox, createSubscriptions, type OutboxFeed } from '../mutation/outbox.ts'
import { hangNoteOf } from '../plugin-packages/blame.ts'
import { hostContracts } from '../plugin-packages/loader.ts'
import type { HttpEdge } from '../plugins/host.ts'
import { createPluginSecrets } from '../plugins/plugin-secrets.ts'
import { PluginRegistry } from '../plugins/registry.ts'
import { createReconcileEngine, type ReconcileEngine } from '../reconcile/reconcile-engine.ts'
import { createScheduler, type Scheduler } from '../reconcile/scheduler.ts'
import { captureState, removeCaptures } from '../state/capture.ts'
import { createStaging } from '../state/stage.ts'
import type { StateParts } from '../state/state-parts.ts'
import type { KernelLog } from '../telemetry/log.ts'
import { scrubText } from '../telemetry/log-redaction.ts'
import type { MetricsBoard } from '../telemetry/metrics.ts'
import { fileOfStore } from './data-dir-lock.ts'
import type { KernelBase } from './kernel-base.ts'
import type { LiveSettings } from './live-settings.ts'

/** The event that says how a component is now. */
const TYPES: Readonly<Record<string, string>> = {
  ok: 'health.ok',
  degraded: 'health.degraded',
  down: 'health.down',
}

/**
 * Tells of components that change their status, in the stream of events: `health.down` with the name of the component. One that was never
 * told of was well. While the store takes no events they wait.
 */
function healthNews(
  clock: Clock,
  mutations: Pick<Mutations, 'observe'>,
): (states: ReadonlyMap<string, ComponentState['status']>) => void {
  const tell = stateTeller(clock, 'ok', (changes) =>
    mutations.observe('kernel', async (tx) => {
      for (const { key, state, was } of changes)
        tx.event({ type: TYPES[state] ?? 'health.degraded', subject: key, data: { status: state, was } })
    }),
  )
  return (states) => void tell(states)
}

/** How something comes to be: by a mutation, by a reconciler, by the hour; and how it is seen to be well. */
export interface Runtime {
  readonly outbox: OutboxFeed
  readonly audit: PacedAuditTrail
  readonly reconciler: ReconcileEngine
  readonly mutations: Mutations
  readonly health: HealthPoller
  readonly scheduler: Scheduler
}

/** Wires them. Nothing runs before it is begun. */
export function createRuntime(
  { secrets, log }: { readonly secrets: Secrets; readonly log: KernelLog },
  { clock, timers, store, cluster, reasons, metrics, tracing, services }: KernelBase,
): Runtime {
  const { db, vault, anchor } = store
  const { auditKey } = secrets
  const { placement, shared } = cluster
  const outbox = createOutbox({ db })
  const reconciler = createReconcileEngine({
    ...{ clock, timers, tracing, placement },
    log: log.child({ component: 'reconcile' }),
    metrics: metrics.kernel,
    elsewhere: (key) => cluster.send(key),
  })
  const limitsOf = createLimits()
  const mutations = createMutations({
    ...{ db, vault, clock, auditKey, tracing, shared },
    limits: () => limitsOf(services.maybe(policyRef)?.bundle().rate_limits),
    // What runs elsewhere was left there by the transaction.
    onDirty: reconciler.enqueueHere,
    onEvents: (types) => outbox.committed(types),
  })
  const health = createHealthBoard({
    ...{ clock, timers, log, isReady: () => reconciler.isReady },
    tell: healthNews(clock, mutations),
  })
  const audit = createAuditTrail({ db, clock, auditKey, anchor })
  const scheduler = createScheduler({ timers, log, placement, reasons })
  return { outbox, audit, reconciler, mutations, health, scheduler }
}

/** Octets of a key for one purpose. */
const KEY_BYTES = 32

/** What a plugin gets of the session key: keys for purposes, never the key itself. RFC 5869. */
function sessionKeysOf(secrets: { readonly jwtKey: KeyObject; readonly jwtKeyId: string }): SessionKeys {
  return {
    keyId: secrets.jwtKeyId,
    derive: (purpose) =>
      new Uint8Array(hkdfSync('sha256', secrets.jwtKey, '', `steeple ${purpose}`, KEY_BYTES)),
  }
}

/** What the kernel itself provides to plugins. */
interface Provided extends Looked {
  readonly vault: Vault
  readonly audit: AuditTrail
  readonly health: HealthBoard
  readonly timekeeper: ClockJudge
  readonly info: ServiceInfo
  readonly nodeState: NodeState
  readonly closed: ClosedItems
  readonly ofNode: readonly (readonly [id: string, service: object])[]
  readonly secrets: Secrets
}

/** The services of the kernel by id. */
function kernelServices(provided: Provided): ReadonlyMap<string, object> {
  const { vault, audit, health, timekeeper, info, nodeState, closed, ofNode, secrets, metrics, log, edge } =
    provided
  return new Map<string, object>([
    [vaultRef.id, vault],
    [nodeIdentityRef.id, secrets.identity],
    ...ofNode,
    [auditTrailRef.id, audit],
    [healthBoardRef.id, health],
    [metricsReaderRef.id, metrics],
    [clockJudgeRef.id, timekeeper],
    [serviceInfoRef.id, info],
    [sessionKeysRef.id, sessionKeysOf(secrets)],
    [nodeStateRef.id, nodeState],
    [closedItemsRef.id, closed],
    [logControlRef.id, log.control],
    [introspectionRef.id, introspection(provided)],
    [ownRoutesRef.id, edge.ownRoutes],
  ])
}

/** What of a kernel is looked into. */
interface Looked {
  readonly log: KernelLog
  readonly settings: LiveSettings
  readonly metrics: MetricsBoard
  /** Metrics of what serves requests. */
  readonly edge: { metricsText(): string; readonly ownRoutes: OwnRoutes }
  readonly registry: PluginRegistry
}

/** What a kernel tells of itself: see `Introspection`. */
function introspection({ log, settings, metrics, edge, registry }: Looked): Introspection {
  return {
    logLines: () => log.recent(),
    configSchema: () => settings.schema(),
    metricsText: async () => `${await metrics.text()}${edge.metricsText()}`,
    plugins: () =>
      registry.list().map(({ name, version, kind, state, health, loadedAtMs, error }) => ({
        name,
        version,
        kind,
        state,
        health,
        loadedAtMs,
        error,
      })),
    scrub: (text) => scrubText(text),
  }
}

/** What of a node another one has taken the place of. */
type Replaced = 'state' | 'build'

/** Plugins, and what the kernel gives them. */
export interface PluginHost {
  readonly registry: PluginRegistry
  readonly forward: ReturnType<typeof forwardingEdge>
  readonly info: ServiceInfo
  /** Resolves when only a start takes up what this node has been given: another state of it, or another build, by its launcher. */
  readonly replaced: Promise<Replaced>
}

/** Makes the registry, which loads nothing yet. */
export function createPluginHost(options: KernelOptions, base: KernelBase, work: Runtime): PluginHost {
  const { config, secrets, log } = options
  const { clock, timers, store, cluster, reasons, settings, metrics, tracing, services } = base
  const { db, vault, timekeeper } = store
  const { outbox, audit, reconciler, mutations, health } = work
  const { data_dir: dataDir } = config.settings.server
  const pluginsDir = config.settings.plugins.dir || join(dataDir, 'plugins')
  const forward = forwardingEdge()
  const { edge } = forward
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
  const restart = (): void => replaced.resolve('state')
  const nodeState = nodeStateOf({ options, config, pluginsDir, db, registry, restart })
  services.set(
    'kernel',
    kernelServices({
      ...{ log, vault, audit, health, metrics, edge, timekeeper, info, nodeState },
      ofNode: [
        ...nodeServices(secrets, clock),
        ...launcherServices(options, () => replaced.resolve('build')),
      ],
      ...{ secrets, settings, registry, closed: closedItems(db, clock) },
    }),
  )
  return { registry, forward, info, replaced: replaced.promise }
}

/** The CA and the credentials of the node, by service id. Throws `secrets_invalid` for a membership that is damaged. */
function nodeServices(secrets: Secrets, clock: Clock): readonly (readonly [string, object])[] {
  return [
    [nodeCaRef.id, openNodeCa(secrets, clock)],
    [nodeCredentialsRef.id, openNodeCredentials(secrets)],
  ]
}

function launcherServices(
  { launchedBy }: KernelOptions,
  relaunch: () => void,
): readonly (readonly [string, object])[] {
  return launchedBy === undefined ? [] : [[launcherRef.id, { ...launchedBy, relaunch }]]
}

/** An edge whose real one is attached later: the edge needs the kernel and the kernel's registry needs an edge. */
function forwardingEdge(): { readonly edge: Required<HttpEdge>; attach(edge: HttpEdge): void } {
  let attached: HttpEdge | undefined
  const real = (): HttpEdge => {
    if (attached === undefined) throw new TypeError('no edge is attached to the kernel')
    return attached
  }
  const own = (): OwnRoutes => {
    const { ownRoutes } = real()
    if (ownRoutes === undefined) throw new TypeError('this edge has no routes of its own')
    return ownRoutes
  }
  return {
    edge: {
      build: (sets) => real().build(sets),
      swap: (next) => real().swap(next),
      metricsText: () => attached?.metricsText?.() ?? '',
      ownRoutes: {
        ask: (...question) => own().ask(...question),
        check: (question) => own().check(question),
      },
    },
    attach: (edge) => {
      attached = edge
    },
  }
}

/** What is running, as the service tells of itself. */
function serviceInfo(
  { version, commit, buildDate, clock }: KernelOptions,
  registry: PluginRegistry,
  instance: () => InstanceView,
): ServiceInfo {
  return {
    version,
    commit,
    buildDate,
    startedAtMs: clock.nowMs(),
    instance,
    plugins: () =>
      registry
        .list()
        // Those that serve, whether they have started or not: who starts first sees all.
        .filter(({ pages }) => pages !== undefined)
        .map(({ name, version, pages = [], panels = [], alerts = {}, certificates = {}, textsDir = '' }) => ({
          ...{ name, version, pages, panels, alerts, certificates },
          ...(textsDir === '' ? {} : { textsDir }),
        })),
  }
}

/** The state of this node as a whole: see `NodeState`. What was cut off before is removed. */
function createNodeState(parts: StateParts): NodeState {
  removeCaptures(parts.dataDir)
  const staging = createStaging(parts)
  const turns = createTurns()
  return {
    // One after the other: each takes the disk and the room of a whole store.
    capture: ({ withKeys, signal }) => turns(() => captureState(parts, withKeys, signal)),
    stage: async () => staging.begin(),
  }
}

/** What of a kernel its state consists of. */
interface KernelState {
  readonly options: KernelOptions
  readonly config: LoadedConfig
  readonly pluginsDir: string
  readonly db: Database
  readonly registry: PluginRegistry
  readonly restart: () => void
}

/** The state of the node that a kernel runs. */
function nodeStateOf({ options, config, registry, ...parts }: KernelState): NodeState {
  const { secrets, clock, log, version } = options
  return createNodeState({
    ...parts,
    secrets,
    clock,
    log,
    version,
    dataDir: config.settings.server.data_dir,
    keysDir: secrets.directory,
    storeFile: fileOfStore(config.settings),
    identity: secrets.identity,
    plugins: () => registry.plugins(),
  })
}
