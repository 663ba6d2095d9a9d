import {
  type Context,
  type Db,
  forbidden,
  introspectionRef,
  nodeIdentityRef,
  nodeNotFound,
  type Principal,
  type Tx,
} from '@steeple/contracts'
import type { AgentComponent } from './agent-components.ts'
import { agentTrouble, componentsOf, isStale } from './agent-components.ts'
import { findHeartbeat, findNode, type HeartbeatRow, moveNode, putHeartbeat } from './node-store.ts'
import { sentAtMs, type TelemetryBody } from './telemetry-request.ts'

/** How often an agent is asked to send. Three missed ones make its node degraded. */
export const HEARTBEAT_INTERVAL_MS = 15_000

/** What a heartbeat was: of a `seq` that is not newer, one as those before it, or one that says something else. */
export type Taken = 'ignored' | 'same' | 'changed'

/** Takes a heartbeat, by `write`. Throws `node_not_found`, `forbidden`. */
export async function takeHeartbeat(
  context: Context,
  body: TelemetryBody,
  principal: Principal,
  write: Db['write'] = (work) => context.db.write(work),
): Promise<Taken> {
  const isOwnNode = principal.kind === 'node' && principal.id === body.node_id
  if (!isOwnNode && !principal.roles.has('operator')) throw forbidden('operator, or node for its own node_id')
  const atMs = sentAtMs(body)
  const taken = await write(async (tx) => {
    const before = await findHeartbeat(tx, body.node_id)
    // Nodes are never forgotten: whose heartbeat is kept is known.
    if (before === undefined && (await findNode(tx, body.node_id)) === undefined) return 'unknown'
    if (before !== undefined && before.seq >= body.seq) return 'ignored'
    const nowMs = context.clock.nowMs()
    const row = heartbeatRow(withoutSecrets(context, body), atMs, nowMs, before)
    await putHeartbeat(tx, row)
    const hasMoved = await followAgent(context, tx, body, nowMs)
    return !hasMoved && before !== undefined && agentTrouble(before, nowMs) === agentTrouble(row, nowMs)
      ? 'same'
      : 'changed'
  })
  // Thrown inside, it would end the writes of the others in the group.
  if (taken === 'unknown') throw nodeNotFound(body.node_id)
  return taken
}

/** The record of another node is in the state that the node says; whether it has moved. */
async function followAgent(
  context: Context,
  tx: Tx,
  { node_id: nodeId, node }: TelemetryBody,
  nowMs: number,
): Promise<boolean> {
  const state = node?.lifecycle
  if (state === undefined || nodeId === context.use(nodeIdentityRef).nodeId) return false
  const row = await findNode(tx, nodeId)
  if (row === undefined || row.state === state) return false
  await moveNode(tx, row, state, nowMs)
  return true
}

/** An agent tells what its core answers: that is kept, shown, and told to receivers of alerts. */
function withoutSecrets(context: Context, body: TelemetryBody): TelemetryBody {
  const looked = context.maybe(introspectionRef)
  if (looked === undefined) return body
  const components = body.components.map(({ detail = '', ...component }) => ({
    ...component,
    detail: looked.scrub(detail),
  }))
  return { ...body, components }
}

function heartbeatRow(
  body: TelemetryBody,
  atMs: number,
  nowMs: number,
  before: HeartbeatRow | undefined,
): HeartbeatRow {
  const hasGap = before === undefined || isStale(before, nowMs)
  return {
    node_id: body.node_id,
    seq: body.seq,
    at_ms: atMs,
    received_at_ms: nowMs,
    fresh_since_ms: hasGap ? nowMs : before.fresh_since_ms,
    interval_ms: HEARTBEAT_INTERVAL_MS,
    components: JSON.stringify(mergedComponents(body, nowMs, before)),
    counters: JSON.stringify(body.counters ?? {}),
    versions: JSON.stringify(body.versions ?? {}),
    node: body.node === undefined ? null : JSON.stringify(body.node),
  }
}

/** The reported components with the times at which each last changed and was last well. */
function mergedComponents(
  body: TelemetryBody,
  nowMs: number,
  before: HeartbeatRow | undefined,
): readonly AgentComponent[] {
  const known = new Map((before === undefined ? [] : componentsOf(before)).map((one) => [one.name, one]))
  return body.components.map(({ name, status, detail = '' }) => {
    const old = known.get(name)
    const lastOkAtMs = status === 'ok' ? nowMs : old?.lastOkAtMs
    return {
      name,
      status,
      detail,
      sinceMs: old?.status === status ? old.sinceMs : nowMs,
      ...(lastOkAtMs === undefined ? {} : { lastOkAtMs }),
    }
  })
}
