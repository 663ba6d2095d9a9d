import {
  type Context,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  nodeIdentityRef,
  objectSchema,
  serviceInfoRef,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
  txGateRef,
} from '@steeple/contracts'
import { formatPlmn } from '@steeple/telecom'
import { degradedReason } from './degraded.ts'
import { spelling, statusOf } from './lifecycle-table.ts'
import { findHeartbeat, type HeartbeatRow, type NodeRow } from './node-store.ts'
import type { ReportedNode } from './telemetry-request.ts'

/** A node in the list. */
export const NODE_SCHEMA: JsonSchema = objectSchema(
  {
    node_id: { type: 'string' },
    name: { type: 'string' },
    state: {
      type: 'string',
      description: 'bootstrap, registered, on-air, peered or degraded; more may come.',
    },
    plmn: { type: 'string', description: 'MCC-MNC, as the node says; of this one until it has.' },
    last_seen: { ...TIMESTAMP_SCHEMA, description: 'Last heartbeat; for this node without an agent, now.' },
    lifecycle: {
      type: 'string',
      description: 'The lifecycle state under the status, spelled as in requests.',
    },
    degraded_reason: { type: ['string', 'null'] },
    version: { type: ['string', 'null'], description: 'Of the service there; null until the node has told.' },
    on_air: {
      type: ['boolean', 'null'],
      description:
        'Whether TX is armed there; null until the node has told, and while the policy cannot be read.',
    },
  },
  ['node_id', 'name', 'state', 'plmn', 'last_seen', 'lifecycle', 'degraded_reason', 'version', 'on_air'],
)

/** The status of a node's enrollment. */
export const ENROLL_SCHEMA: JsonSchema = objectSchema(
  {
    node_id: { type: 'string' },
    enrolled: { type: 'boolean', description: 'Whether it holds a valid certificate of the mesh CA.' },
    state: { type: 'string', description: 'The lifecycle state, spelled as in requests.' },
    enrolled_at: NULLABLE_TIMESTAMP_SCHEMA,
    certificate_expires_at: NULLABLE_TIMESTAMP_SCHEMA,
  },
  ['node_id', 'enrolled', 'state', 'enrolled_at', 'certificate_expires_at'],
)

/** Whether and when a node left. */
export const LEAVE_SCHEMA: JsonSchema = objectSchema(
  {
    node_id: { type: 'string' },
    left: { type: 'boolean' },
    state: { type: 'string', description: 'The lifecycle state, spelled as in requests.' },
    left_at: NULLABLE_TIMESTAMP_SCHEMA,
  },
  ['node_id', 'left', 'state', 'left_at'],
)

/** A node in the list. */
export async function nodeRecord(context: Context, row: NodeRow): Promise<object> {
  const [heartbeat, reason] = await Promise.all([
    findHeartbeat(context.db, row.node_id),
    degradedReason(context, row.node_id),
  ])
  const isOwn = row.node_id === context.use(nodeIdentityRef).nodeId
  const told = isOwn ? await ownTold(context) : toldBy(heartbeat)
  const silentSinceMs = isOwn ? context.clock.nowMs() : row.state_since_ms
  return {
    node_id: row.node_id,
    name: row.name,
    state: statusOf(row.state, reason !== undefined),
    plmn: told.plmn ?? formatPlmn(context.settings.plmn),
    last_seen: timestampFromMs(heartbeat?.received_at_ms ?? silentSinceMs),
    lifecycle: spelling(row.state),
    degraded_reason: reason ?? null,
    version: told.version ?? null,
    on_air: told.isOnAir ?? null,
  }
}

/** What a node says of itself. */
interface Told {
  readonly plmn?: string | undefined
  readonly version?: string | undefined
  readonly isOnAir?: boolean | undefined
}

async function ownTold(context: Context): Promise<Told> {
  const { version } = context.use(serviceInfoRef)
  const gate = context.maybe(txGateRef)
  if (gate === undefined) return { version, isOnAir: false }
  try {
    return { version, isOnAir: (await gate.state()).armed }
  } catch {
    return { version }
  }
}

function toldBy(heartbeat: HeartbeatRow | undefined): Told {
  if (heartbeat === undefined) return {}
  // Both were checked as they came in.
  const { svc } = JSON.parse(heartbeat.versions) as { readonly svc?: string }
  const node = heartbeat.node === null ? undefined : (JSON.parse(heartbeat.node) as ReportedNode)
  return { version: svc, plmn: node?.plmn, isOnAir: node?.on_air }
}

/** The status of a node's enrollment. This node's certificate is its own, made with its identity. */
export function enrollRecord(context: Context, row: NodeRow): object {
  const identity = context.use(nodeIdentityRef)
  const isOwn = row.node_id === identity.nodeId
  const expiresAtMs = isOwn ? identity.certificateExpiresAtMs : row.certificate_expires_at_ms
  const enrolledAtMs = isOwn ? identity.createdAtMs : row.enrolled_at_ms
  return {
    node_id: row.node_id,
    enrolled: row.left_at_ms === null && expiresAtMs !== null && expiresAtMs > context.clock.nowMs(),
    state: spelling(row.state),
    enrolled_at: timestampOrNull(enrolledAtMs),
    certificate_expires_at: timestampOrNull(expiresAtMs),
  }
}

/** Whether and when a node left. */
export function leaveRecord(row: NodeRow): object {
  return {
    node_id: row.node_id,
    left: row.left_at_ms !== null,
    state: spelling(row.state),
    left_at: timestampOrNull(row.left_at_ms),
  }
}
