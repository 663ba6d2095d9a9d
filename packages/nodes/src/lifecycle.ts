import {
  type Context,
  forbidden,
  invalidTransition,
  type Lifecycle,
  type LifecycleState,
  type MutationTx,
  moveRecorderRef,
  nodeIdentityRef,
  nodeNotFound,
  objectSchema,
  type Peering,
  type Principal,
  peeringRef,
  type Route,
  recordSchema,
  route,
  systemPrincipal,
  TIMESTAMP_SCHEMA,
  type Tx,
  timestampFromMs,
  txGateRef,
} from '@steeple/contracts'
import { isForcedNode, moveNode, NODES, type NodeRow } from './node-store.ts'

/** What a transition may need. `mesh` ones can be skipped by force; nothing else can. */
type Prerequisite = 'certificate' | 'tx_armed' | 'mesh_joined' | 'routes_exchanged'

/** Which prerequisites hold now. */
export type Facts = Readonly<Record<Prerequisite, boolean>>

/** One line of the specification's table, as a request may ask for it. */
interface Transition {
  readonly from: LifecycleState
  readonly to: LifecycleState
  readonly needs: readonly Prerequisite[]
}

/**
 * The transitions that may be requested. Specification, "Node lifecycle"; the inverse ones are contract section 4.
 *
 * Each re-validates everything that its target stands on, so nothing on air is reached with a closed TX gate.
 */
export const TRANSITIONS: readonly Transition[] = [
  { from: 'provision', to: 'register', needs: ['certificate'] },
  { from: 'register', to: 'on_air', needs: ['tx_armed'] },
  { from: 'on_air', to: 'peer', needs: ['tx_armed', 'mesh_joined'] },
  { from: 'peer', to: 'breakout', needs: ['tx_armed', 'mesh_joined', 'routes_exchanged'] },
  { from: 'on_air', to: 'register', needs: [] },
  { from: 'peer', to: 'on_air', needs: ['tx_armed'] },
]

const FORCEABLE: ReadonlySet<Prerequisite> = new Set(['mesh_joined', 'routes_exchanged'])

/** What to do about each missing prerequisite. */
const REMEDY: Readonly<Record<Prerequisite, string>> = {
  certificate: 'the node has no valid certificate of the mesh CA (enroll it)',
  tx_armed: 'TX is not armed (POST /v1/tx/arm; no force passes the TX gate)',
  mesh_joined: 'the node has not joined a mesh (an admin may force it)',
  routes_exchanged: 'no routes are exchanged with a peer (an admin may force it)',
}

/** What a request comes to: a move, forced when a missing prerequisite was skipped, or a refusal and why. */
type Decision =
  | { readonly isAllowed: true; readonly to: LifecycleState; readonly isForced: boolean }
  | { readonly isAllowed: false; readonly reason: string }

/** A requested transition, in the words of the request. */
export interface TransitionRequest {
  readonly from: string
  readonly to: string
  readonly force: boolean
}

/** Decides a requested transition. `from` must be the current state and the pair one of `TRANSITIONS`. */
export function decide(current: LifecycleState, request: TransitionRequest, facts: Facts): Decision {
  const [from, to] = [shortened(request.from), shortened(request.to)]
  if (request.from !== DEGRADED && stateFrom(request.from, current) !== current) {
    return {
      isAllowed: false,
      reason: `the node is in ${spelling(current)}, not in ${from}; it cannot move to ${to}`,
    }
  }
  const target = stateFrom(request.to, current)
  const transition = TRANSITIONS.find((line) => line.from === current && line.to === target)
  if (transition === undefined) {
    return { isAllowed: false, reason: `there is no transition from ${from} to ${to}; ${waysFrom(current)}` }
  }
  const missing = transition.needs.filter((need) => !facts[need])
  const blocking = request.force ? missing.filter((need) => !FORCEABLE.has(need)) : missing
  if (blocking.length > 0) {
    const reasons = blocking.map((need) => REMEDY[need]).join('; ')
    return { isAllowed: false, reason: `from ${from} to ${to}: ${reasons}` }
  }
  return { isAllowed: true, to: transition.to, isForced: missing.length > 0 }
}

function waysFrom(state: LifecycleState): string {
  const targets = TRANSITIONS.filter((line) => line.from === state).map((line) => spelling(line.to))
  return targets.length === 0
    ? `none may be requested from ${spelling(state)}`
    : `possible from ${spelling(state)}: ${targets.join(', ')}`
}

/** A state as answers spell it: `on-air`, the rest as stored. */
export function spelling(state: LifecycleState): string {
  return state === 'on_air' ? 'on-air' : state
}

/** The words of requests: the states, and what `GET /v1/status` calls them. */
const STATES: ReadonlyMap<string, LifecycleState> = new Map<string, LifecycleState>([
  ['provision', 'provision'],
  ['bootstrap', 'provision'],
  ['register', 'register'],
  ['registered', 'register'],
  ['on-air', 'on_air'],
  ['on_air', 'on_air'],
  ['peer', 'peer'],
  ['breakout', 'breakout'],
])
/** A status over two states: the one that the node is in, otherwise the first. */
const PEERED = 'peered'
/** A status that lies over any state: a node that is called so is in the state that it is in. */
const DEGRADED = 'degraded'

function stateFrom(text: string, current: LifecycleState): LifecycleState | undefined {
  if (text === PEERED) return current === 'breakout' ? 'breakout' : 'peer'
  return STATES.get(text)
}

/** A word of a request as answers spell it. */
function shortened(text: string): string {
  const state = STATES.get(text)
  return state === undefined ? text.slice(0, 64) : spelling(state)
}

/** The status that `GET /v1/status` and the node record show for a state. */
type NodeStatus = 'bootstrap' | 'registered' | 'on-air' | 'peered' | 'degraded'

const STATUS: Readonly<Record<LifecycleState, NodeStatus>> = {
  provision: 'bootstrap',
  register: 'registered',
  on_air: 'on-air',
  peer: 'peered',
  breakout: 'peered',
}

/** Contract section 4: the state's status, unless the degraded overlay lies over it. */
export function statusOf(state: LifecycleState, isDegraded: boolean): NodeStatus {
  return isDegraded ? 'degraded' : STATUS[state]
}

/** Where an armed TX gate takes a state by itself. */
export function afterArming(state: LifecycleState, hasCertificate: boolean): LifecycleState {
  if (state === 'register' || (state === 'provision' && hasCertificate)) return 'on_air'
  return state
}

/** Where a disarmed TX gate takes a state by itself: nothing stays on air. */
export function afterDisarming(state: LifecycleState): LifecycleState {
  return state === 'provision' ? 'provision' : 'register'
}

/** What the mesh is seen to be. */
type MeshFacts = Omit<Awaited<ReturnType<Peering['state']>>, 'breakout'>

/**
 * The next step of a node that follows the mesh by itself; undefined where it is right. Specification, "Node lifecycle":
 * mesh join, route exchange, mesh left. A state that was forced is not gone back from.
 */
export function towardsMesh(
  state: LifecycleState,
  { isJoined, hasRoutes, isMember = false }: MeshFacts,
  isForced: boolean,
): { readonly to: LifecycleState; readonly why: string } | undefined {
  if (state === 'provision' && isMember) return { to: 'register', why: 'the node was let into a mesh' }
  if (state === 'on_air' && isJoined) return { to: 'peer', why: 'the node is in a mesh' }
  if (state === 'peer' && isJoined && hasRoutes) {
    return { to: 'breakout', why: 'routes are exchanged and phones are let out' }
  }
  if (isForced) return undefined
  if (state === 'breakout' && !(isJoined && hasRoutes)) {
    return { to: 'peer', why: 'no routes are exchanged, or phones are not let out' }
  }
  if (state === 'peer' && !isJoined) return { to: 'on_air', why: 'the node is in no mesh' }
  return undefined
}

/** A mesh plugin that is exchanged is away for less. */
const AWAY_MS = 30_000

/**
 * Moves this node by one step between on_air, peer and breakout, as the mesh is seen to be: the move is audited as one that
 * was asked for is. It goes back from no state that an admin has forced.
 */
function meshFollower(context: Context): () => Promise<LifecycleState | undefined> {
  const factsOf = standingFacts(context)
  return async () => {
    const { clock, db } = context
    const nodeId = context.use(nodeIdentityRef).nodeId
    const facts = await factsOf()
    const row = await NODES.find(db, { node_id: nodeId })
    if (row === undefined || facts === undefined) return undefined
    const next = towardsMesh(row.state, facts, await isForcedNode(db, row))
    if (next === undefined) return undefined
    await context.mutate(systemPrincipal('nodes'), 'lifecycle.transition', nodeId, async (tx) => {
      const now = await NODES.find(tx, { node_id: nodeId })
      if (now?.state !== row.state)
        throw invalidTransition('the lifecycle has changed meanwhile; read it and try again')
      await moveNode(tx, now, next.to, clock.nowMs())
      await recordMove(context, tx, now, next.to)
      const detail = { from: spelling(row.state), to: spelling(next.to), forced: false, why: next.why }
      tx.audit({ detail })
      tx.event({ type: 'lifecycle.transition', subject: nodeId, data: detail })
    })
    return next.to
  }
}

/** What the mesh says; undefined while it may be on its way back. */
function standingFacts(context: Context): () => Promise<MeshFacts | undefined> {
  let awaySinceMs: number | undefined
  return async () => {
    const mesh = context.maybe(peeringRef)
    if (mesh !== undefined) {
      awaySinceMs = undefined
      return await mesh.state()
    }
    const nowMs = context.clock.monotonicMs()
    awaySinceMs ??= nowMs
    return nowMs - awaySinceMs < AWAY_MS ? undefined : { isJoined: false, hasRoutes: false }
  }
}

/** What was done. `atMs`: ms since the epoch. */
interface TransitionResult {
  readonly nodeId: string
  readonly from: LifecycleState
  readonly to: LifecycleState
  readonly atMs: number
  readonly isForced: boolean
}

/** The lifecycle of this node with what only this package asks of it. */
export interface NodeLifecycle extends Lifecycle {
  /**
   * Reads what the prerequisites of a transition say now; the result moves the node inside the caller's mutation.
   *
   * The move throws `forbidden` for force without admin, `invalid_transition` with both states and the reason.
   */
  prepare(
    request: TransitionRequest,
    principal: Principal,
  ): Promise<(tx: MutationTx) => Promise<TransitionResult>>
  /** Falls back to register when the node is on air with a closed TX gate. Says whether it did. */
  heal(): Promise<boolean>
  /** One step to where the mesh is seen to be, up or back: the state it came to, or undefined when it stays. */
  followMesh(): Promise<LifecycleState | undefined>
}

/** Makes the lifecycle service of this node. */
export function createLifecycle(context: Context): NodeLifecycle {
  const { clock, db } = context
  // Counts what the TX gate said, so that a transition that asked the gate before notices in its transaction.
  let gateMoves = 0
  const ownId = (): string => context.use(nodeIdentityRef).nodeId
  const isTxArmed = async (): Promise<boolean> => (await context.maybe(txGateRef)?.state())?.armed ?? false
  const hasCertificate = (): boolean => context.use(nodeIdentityRef).certificateExpiresAtMs > clock.nowMs()
  const ownRow = async (reader: Pick<Tx, 'get' | 'all'>): Promise<NodeRow> => {
    const row = await NODES.find(reader, { node_id: ownId() })
    if (row === undefined) throw nodeNotFound(ownId())
    return row
  }
  const facts = async (): Promise<Facts> => {
    const mesh = await context.maybe(peeringRef)?.state()
    return {
      certificate: hasCertificate(),
      tx_armed: await isTxArmed(),
      mesh_joined: mesh?.isJoined ?? false,
      routes_exchanged: mesh?.hasRoutes ?? false,
    }
  }
  const follow = async (tx: Tx, next: (state: LifecycleState) => LifecycleState): Promise<void> => {
    gateMoves += 1
    const own = db.join(tx)
    const row = await ownRow(own)
    const state = next(row.state)
    if (state === row.state) return
    await moveNode(own, row, state, clock.nowMs())
    await recordMove(context, tx, row, state)
  }
  const txDisarmed = (tx: Tx): Promise<void> => follow(tx, afterDisarming)
  return {
    state: async () => (await ownRow(db)).state,
    txArmed: (tx) => follow(tx, (state) => afterArming(state, hasCertificate())),
    txDisarmed,
    prepare: async (request, principal) => {
      const movesBefore = gateMoves
      const known = await facts()
      return async (tx) => {
        if (request.force && !principal.roles.has('admin')) throw forbidden('admin (to force a transition)')
        if (gateMoves !== movesBefore) {
          throw invalidTransition('the TX gate moved meanwhile; read the state and ask again')
        }
        const row = await ownRow(tx)
        const decision = decide(row.state, request, known)
        if (!decision.isAllowed) throw invalidTransition(decision.reason)
        const atMs = clock.nowMs()
        await moveNode(tx, row, decision.to, atMs, decision.isForced)
        await recordMove(context, tx, row, decision.to)
        return { nodeId: row.node_id, from: row.state, to: decision.to, atMs, isForced: decision.isForced }
      }
    },
    heal: async () => {
      const movesBefore = gateMoves
      const gate = await context.maybe(txGateRef)?.state()
      const row = await NODES.find(db, { node_id: ownId() })
      if (gate === undefined || gate.armed || row === undefined || !isOnAir(row.state)) return false
      await context.mutate(systemPrincipal('nodes'), 'lifecycle.transition', row.node_id, async (tx) => {
        if (gateMoves !== movesBefore)
          throw invalidTransition('the TX gate has changed meanwhile; read it and try again')
        await txDisarmed(tx)
        tx.audit({
          detail: { from: spelling(row.state), to: 'register', forced: false, why: 'TX is not armed' },
        })
      })
      return true
    },
    followMesh: meshFollower(context),
  }
}

function isOnAir(state: LifecycleState): boolean {
  return state !== 'provision' && state !== 'register'
}

/** Has a move written down in its own transaction where somebody keeps a record. */
async function recordMove(
  context: Context,
  tx: Tx,
  { node_id: nodeId, state: from }: NodeRow,
  to: LifecycleState,
): Promise<void> {
  await context.maybe(moveRecorderRef)?.nodeMoved(tx, { nodeId, from, to })
}

const STATE = {
  type: 'string',
  description:
    'provision, register, on-air, peer or breakout; also as GET /v1/status calls it: bootstrap, registered, peered. Any other ' +
    'word is a transition that there is not: 409.',
}
const BODY_SCHEMA = objectSchema(
  {
    from: {
      ...STATE,
      description: `The current state. ${STATE.description} degraded: whatever state lies below it.`,
    },
    to: STATE,
    force: {
      type: 'boolean',
      default: false,
      description: 'Skips mesh prerequisites and nothing else; needs admin. No force passes the TX gate.',
    },
  },
  ['from', 'to'],
)
const RESULT_SCHEMA = recordSchema({
  node_id: { type: 'string' },
  from: { type: 'string' },
  to: { type: 'string' },
  at: TIMESTAMP_SCHEMA,
  forced: { type: 'boolean', description: 'Whether a missing prerequisite was skipped.' },
})

/** `POST /v1/lifecycle/transition`. */
export function lifecycleRoutes(context: Context, lifecycle: NodeLifecycle): readonly Route[] {
  return [
    route<unknown, unknown, Omit<TransitionRequest, 'force'> & { readonly force?: boolean }>({
      method: 'POST',
      path: '/v1/lifecycle/transition',
      role: 'operator',
      example: { from: 'provision', to: 'register' },
      summary: 'Move this node to another lifecycle state',
      description:
        'Each move checks its prerequisites; force skips those of the mesh, never the TX gate. A move that the table lacks is 409 invalid_transition.',
      schema: { body: BODY_SCHEMA, response: RESULT_SCHEMA },
      audit: 'lifecycle.transition',
      errors: ['invalid_transition'],
      handle: async (request) => {
        const move = await lifecycle.prepare({ force: false, ...request.body }, request.principal)
        return request.mutate(context.use(nodeIdentityRef).nodeId, async (tx) => {
          const result = resultRecord(await move(tx))
          const { from, to, forced } = result
          tx.audit({ detail: { from, to, forced } })
          tx.event({ type: 'lifecycle.transition', subject: result.node_id, data: { from, to, forced } })
          return { body: result }
        })
      },
    }),
  ]
}

function resultRecord(result: TransitionResult) {
  return {
    node_id: result.nodeId,
    from: spelling(result.from),
    to: spelling(result.to),
    at: timestampFromMs(result.atMs),
    forced: result.isForced,
  }
}
