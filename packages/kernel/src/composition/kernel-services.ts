import {
  type AuditTrail,
  auditTrailRef,
  type ClockJudge,
  type ClosedItems,
  clockJudgeRef,
  closedItemsRef,
  type HealthBoard,
  healthBoardRef,
  introspectionRef,
  logControlRef,
  metricsReaderRef,
  type NodeState,
  nodeIdentityRef,
  nodeStateRef,
  type ServiceInfo,
  serviceInfoRef,
  sessionKeysRef,
  type Vault,
  vaultRef,
} from '@steeple/contracts'
import type { Secrets } from '@steeple/secrets'
import { introspection, type Looked } from './introspection.ts'
import { sessionKeysOf } from './session-keys.ts'

/** What the kernel itself provides to plugins. */
export interface Provided extends Looked {
  readonly vault: Vault
  readonly audit: AuditTrail
  readonly health: HealthBoard
  readonly timekeeper: ClockJudge
  readonly info: ServiceInfo
  readonly nodeState: NodeState
  readonly closed: ClosedItems
  readonly mesh: readonly (readonly [id: string, service: object])[]
  readonly secrets: Secrets
}

/** The services of the kernel by id. */
export function kernelServices(provided: Provided): ReadonlyMap<string, object> {
  const { vault, audit, health, timekeeper, info, nodeState, closed, mesh, secrets, metrics, log } = provided
  return new Map<string, object>([
    [vaultRef.id, vault],
    [nodeIdentityRef.id, secrets.identity],
    ...mesh,
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
  ])
}
