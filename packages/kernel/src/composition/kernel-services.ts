import { hkdfSync } from 'node:crypto'
import {
  type AuditTrail,
  auditTrailRef,
  type Clock,
  clockJudgeRef,
  closedItemsRef,
  type HealthBoard,
  healthBoardRef,
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
  type ServiceInfo,
  type SessionKeys,
  serviceInfoRef,
  sessionKeysRef,
  vaultRef,
} from '@steeple/contracts'
import { openNodeCa, openNodeCredentials, type Secrets } from '@steeple/secrets'
import { closedItems } from '@steeple/store'
import type { KernelOptions } from '../create-kernel.ts'
import type { HttpEdge } from '../plugins/host.ts'
import type { PluginRegistry } from '../plugins/registry.ts'
import { scrubText } from '../telemetry/log-redaction.ts'
import type { MetricsBoard } from '../telemetry/metrics.ts'
import type { LiveSettings } from './live-settings.ts'
import type { OpenStore } from './open-store.ts'

/** What the services of the kernel are made of. */
interface Provided {
  readonly options: KernelOptions
  readonly store: OpenStore
  readonly clock: Clock
  readonly settings: LiveSettings
  readonly metrics: MetricsBoard
  readonly registry: PluginRegistry
  readonly edge: Required<HttpEdge>
  readonly audit: AuditTrail
  readonly health: HealthBoard
  readonly info: ServiceInfo
  readonly nodeState: NodeState
  /** Has the launcher run another build. */
  readonly relaunch: () => void
}

/** The services of the kernel by id. Throws `secrets_invalid` for a membership that is damaged. */
export function kernelServices(provided: Provided): ReadonlyMap<string, object> {
  const { options, clock, store, audit, health, info, nodeState, metrics, edge, relaunch } = provided
  const { secrets, log, launchedBy } = options
  return new Map<string, object>([
    [vaultRef.id, store.vault],
    [nodeIdentityRef.id, secrets.identity],
    [nodeCaRef.id, openNodeCa(secrets, clock)],
    [nodeCredentialsRef.id, openNodeCredentials(secrets)],
    ...(launchedBy === undefined ? [] : [[launcherRef.id, { ...launchedBy, relaunch }] as const]),
    [auditTrailRef.id, audit],
    [healthBoardRef.id, health],
    [metricsReaderRef.id, metrics],
    [clockJudgeRef.id, store.timekeeper],
    [serviceInfoRef.id, info],
    [sessionKeysRef.id, sessionKeysOf(secrets)],
    [nodeStateRef.id, nodeState],
    [closedItemsRef.id, closedItems(store.db, clock)],
    [logControlRef.id, log.control],
    [introspectionRef.id, introspection(provided)],
    [ownRoutesRef.id, edge.ownRoutes],
  ])
}

/** Octets of a key for one purpose. */
const KEY_BYTES = 32

/** What a plugin gets of the session key: keys for purposes, never the key itself. RFC 5869. */
function sessionKeysOf({ jwtKey, jwtKeyId }: Secrets): SessionKeys {
  return {
    keyId: jwtKeyId,
    derive: (purpose) => new Uint8Array(hkdfSync('sha256', jwtKey, '', `steeple ${purpose}`, KEY_BYTES)),
  }
}

/** What a kernel tells of itself: see `Introspection`. */
function introspection({ options, settings, metrics, edge, registry }: Provided): Introspection {
  return {
    logLines: () => options.log.recent(),
    configSchema: () => settings.schema(),
    metricsText: async () => `${await metrics.text()}${edge.metricsText()}`,
    plugins: () =>
      registry.list().map(({ name, version, kind, state, health, loadedAtMs, error }) => ({
        ...{ name, version, kind, state, health, loadedAtMs, error },
      })),
    scrub: (text) => scrubText(text),
  }
}

/** An edge whose real one is attached later: the edge needs the kernel and the kernel's registry needs an edge. */
export function forwardingEdge(): { readonly edge: Required<HttpEdge>; attach(edge: HttpEdge): void } {
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
export function serviceInfo(
  { version, commit, buildDate, clock }: KernelOptions,
  registry: PluginRegistry,
  instance: ServiceInfo['instance'],
): ServiceInfo {
  return {
    ...{ version, commit, buildDate, instance },
    startedAtMs: clock.nowMs(),
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
