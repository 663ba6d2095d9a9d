import {
  type Context,
  invalidTransition,
  type LifecycleState,
  meshStandingRef,
  nodeIdentityRef,
  systemPrincipal,
} from '@steeple/contracts'
import { type MeshFacts, spelling, towardsMesh } from './lifecycle-table.ts'
import { findNode, isForcedNode, moveNode } from './node-store.ts'
import { recordMove } from './record-move.ts'

/** A mesh plugin that is exchanged is away for less. */
const AWAY_MS = 30_000

/**
 * Moves this node by one step between on_air, peer and breakout, as the mesh is seen to be: the move is audited as one that
 * was asked for is. It goes back from no state that an admin has forced.
 */
export function meshFollower(context: Context): () => Promise<LifecycleState | undefined> {
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
