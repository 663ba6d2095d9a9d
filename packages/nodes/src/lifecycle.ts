import {
  type Context,
  forbidden,
  invalidTransition,
  type Lifecycle,
  type LifecycleState,
  type MutationTx,
  meshStandingRef,
  moveRecorderRef,
  nodeIdentityRef,
  nodeNotFound,
  type Principal,
  systemPrincipal,
  type Tx,
  txGateRef,
} from '@steeple/contracts'
import {
  afterArming,
  afterDisarming,
  decide,
  type Facts,
  type MeshFacts,
  spelling,
  type TransitionRequest,
  towardsMesh,
} from './lifecycle-table.ts'
import { findNode, isForcedNode, moveNode, type NodeRow } from './node-store.ts'

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
    const row = await findNode(db, nodeId)
    if (row === undefined || facts === undefined) return undefined
    const next = towardsMesh(row.state, facts, await isForcedNode(db, row))
    if (next === undefined) return undefined
    await context.mutate(systemPrincipal('nodes'), 'lifecycle.transition', nodeId, async (tx) => {
      const now = await findNode(tx, nodeId)
      if (now?.state !== row.state) throw invalidTransition('the lifecycle moved meanwhile')
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
    const mesh = context.maybe(meshStandingRef)
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
export interface TransitionResult {
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
    const row = await findNode(reader, ownId())
    if (row === undefined) throw nodeNotFound(ownId())
    return row
  }
  const facts = async (): Promise<Facts> => {
    const mesh = await context.maybe(meshStandingRef)?.state()
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
      const row = await findNode(db, ownId())
      if (gate === undefined || gate.armed || row === undefined || !isOnAir(row.state)) return false
      await context.mutate(systemPrincipal('nodes'), 'lifecycle.transition', row.node_id, async (tx) => {
        if (gateMoves !== movesBefore) throw invalidTransition('the TX gate moved meanwhile')
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
