import { setTimeout as delay } from 'node:timers/promises'
import {
  type Context,
  type Db,
  desiredNewsRef,
  forbidden,
  introspectionRef,
  nodeIdentityRef,
  nodeNotFound,
  objectSchema,
  type Principal,
  type Route,
  route,
  type Tx,
} from '@steeple/contracts'
import { type AgentComponent, agentTrouble, componentsOf, isStale } from './agent-components.ts'
import { HEARTBEATS, type HeartbeatRow, moveNode, NODES } from './node-store.ts'
import { sentAtMs, TELEMETRY_BODY, type TelemetryBody } from './telemetry-request.ts'

/** How often an agent is asked to send. Three missed ones make its node degraded. */
const HEARTBEAT_INTERVAL_MS = 15_000

/** What a heartbeat was: of a `seq` that is not newer, one as those before it, or one that says something else. */
type Taken = 'ignored' | 'same' | 'changed'

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
    const before = await HEARTBEATS.find(tx, { node_id: body.node_id })
    // Nodes are never forgotten: whose heartbeat is kept is known.
    if (before === undefined && (await NODES.find(tx, { node_id: body.node_id })) === undefined)
      return 'unknown'
    if (before !== undefined && before.seq >= body.seq) return 'ignored'
    const nowMs = context.clock.nowMs()
    const row = heartbeatRow(withoutSecrets(context, body), atMs, nowMs, before)
    await HEARTBEATS.put(tx, row)
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
  const row = await NODES.find(tx, { node_id: nodeId })
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

/** How long writes wait for others that come soon after. */
const WINDOW_MS = 500
/** So many wait no longer: one commit is not to hold up the turn of the loop. */
const MOST_WAITING = 64

/** Resolves after so many ms, or as soon as the signal fires. */
type Wait = (waitMs: number, signal: AbortSignal) => Promise<unknown>

/**
 * Writes of observed state that come one by one, gathered: the first goes at once, those of the next moment share a commit,
 * which costs as much as one. Each resolves when its commit is durable; what throws inside ends all that share it.
 */
export function groupedWrites(db: Pick<Db, 'write'>, wait: Wait = inTime): Db['write'] {
  let waiting: ((tx: Tx) => Promise<void>)[] = []
  let shared: Promise<void> | undefined
  let full = new AbortController()
  let nextMs = 0
  const flush = async (): Promise<void> => {
    // Whatever comes in this turn goes along.
    await Promise.resolve()
    const waitMs = nextMs - performance.now()
    if (waitMs > 0 && !full.signal.aborted) await wait(waitMs, full.signal)
    full = new AbortController()
    const work = waiting
    waiting = []
    shared = undefined
    nextMs = performance.now() + WINDOW_MS
    await db.write(async (tx) => {
      for (const one of work) await one(tx)
    })
  }
  return async <T>(work: (tx: Tx) => Promise<T>): Promise<T> => {
    const result = Promise.withResolvers<T>()
    // It is the commit that says how it went.
    result.promise.catch(() => undefined)
    const size = waiting.push(async (tx) => result.resolve(await work(tx)))
    shared ??= flush()
    if (size >= MOST_WAITING) full.abort()
    await shared
    return await result.promise
  }
}

const inTime: Wait = (waitMs, signal) => delay(waitMs, undefined, { signal }).catch(() => undefined)

const ACCEPTED_SCHEMA = objectSchema(
  {
    accepted: { type: 'boolean' },
    next_in_s: { type: 'integer', description: 'Send the next heartbeat after this many seconds.' },
    desired_version: {
      type: 'integer',
      description: 'Of what this node is to have; absent: nothing in particular.',
    },
  },
  ['accepted', 'next_in_s'],
)

/** `POST /v1/telemetry`. */
export function telemetryRoutes(context: Context): readonly Route[] {
  const heartbeats = context.metrics.counter('svc_nodes_heartbeats_total', 'Heartbeats received.', ['state'])
  const write = groupedWrites(context.db)
  return [
    route<unknown, unknown, TelemetryBody>({
      method: 'POST',
      path: '/v1/telemetry',
      role: 'operator',
      nodeToo: true,
      summary: 'Send the heartbeat of an agent',
      description: `A node without a heartbeat for ${(3 * HEARTBEAT_INTERVAL_MS) / 1_000} s is degraded until the next one.`,
      schema: { body: TELEMETRY_BODY, response: ACCEPTED_SCHEMA, status: 202 },
      audit: {
        none: 'a heartbeat is observed state; what it changes is audited as node.degrade and node.recover',
      },
      errors: ['node_not_found'],
      handle: async (request) => {
        const taken = await takeHeartbeat(context, request.body, request.principal, write)
        heartbeats.inc({ state: taken === 'ignored' ? 'ignored' : 'accepted' })
        // What is as before leaves the node as it is.
        if (taken === 'changed') context.enqueue('node', request.body.node_id)
        const desired_version = await context.maybe(desiredNewsRef)?.versionFor(request.body.node_id)
        const next_in_s = HEARTBEAT_INTERVAL_MS / 1_000
        return {
          status: 202,
          body: { accepted: true, next_in_s, ...(desired_version === undefined ? {} : { desired_version }) },
        }
      },
    }),
  ]
}
