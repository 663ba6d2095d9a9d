import { type Outcome, type Reconciler, systemPrincipal } from '@steeple/contracts'
import type { SeenInterface } from '../wireguard/dump.ts'
import { KEY_RESOURCE, lookSoon, type PeersParts } from './parts.ts'
import { allPeers, PEERS, peerById } from './peer-store.ts'

const RESYNC_MS = 30_000
/** Between two looks for a peer's new key: packets wait at the peer meanwhile, WireGuard keeps 128 of them. */
const FAST_MS = 200
const SLOW_MS = 1_000
/** How long it is looked for fast. */
const FAST_FOR_MS = 300_000

/**
 * Follows peers that go over to another key.
 *
 * Both keys are on the interface: the old one with the peer's networks, the next one without any and with a preshared key
 * that nobody else has (a latch). The peer's first packet under its new key is a handshake that this node sees and does not
 * complete, so the peer keeps what it has to send. Then the networks move to the new key, whose handshake begins anew.
 */
export function keyReconciler(parts: PeersParts): Reconciler {
  const { context } = parts
  const since = new Map<string, number>()
  const waiting = (id: string): Outcome => {
    const nowMs = context.clock.monotonicMs()
    const firstMs = since.get(id) ?? nowMs
    since.set(id, firstMs)
    const afterMs = nowMs - firstMs < FAST_FOR_MS ? FAST_MS : SLOW_MS
    return { state: 'pending', afterMs, reason: 'the peer has not gone over to its next key yet' }
  }
  return {
    resource: KEY_RESOURCE,
    runs: 'machine',
    resyncMs: RESYNC_MS,
    backoff: { firstMs: SLOW_MS, longestMs: 10_000 },
    batch: 100,
    keys: async () => await changing(parts),
    reconcile: async (keys, signal) => {
      if (!(context.config.enabled && parts.driver.exists())) return { state: 'converged' }
      const seen = await parts.driver.peek(signal)
      const outcomes = new Map<string, Outcome>()
      for (const id of keys) {
        const isWaiting = await follow(parts, id, seen)
        if (isWaiting) outcomes.set(id, waiting(id))
        else since.delete(id)
      }
      return outcomes
    },
  }
}

/** Goes over with a peer that has gone; whether it is still to. */
async function follow(parts: PeersParts, id: string, seen: SeenInterface | undefined): Promise<boolean> {
  const row = await peerById(parts.context.db, id)
  if (row === undefined || row.next_key === null || row.removed_at_ms !== null) return false
  const latch = seen?.peers.find(({ publicKey }) => publicKey === row.next_key)
  if (latch === undefined || latch.rxBytes === 0) return true
  await goOver(parts, id, row.next_key)
  return false
}

/** A peer's next key is its key from now on. */
async function goOver(parts: PeersParts, id: string, nextKey: string): Promise<void> {
  const { context } = parts
  await context.mutate(systemPrincipal('mesh'), 'peer.key', id, async (tx) => {
    const row = await peerById(tx, id)
    if (row?.next_key !== nextKey) return
    await PEERS.put(tx, {
      ...row,
      public_key: nextKey,
      next_key: null,
      former_key: row.public_key,
      changed_at_ms: context.clock.nowMs(),
    })
    tx.audit({ detail: { public_key: nextKey, former_key: row.public_key } })
    tx.event({ type: 'peer.key', subject: id, data: { name: row.name, public_key: nextKey } })
  })
  lookSoon(parts)
}

async function changing({ context }: PeersParts): Promise<readonly string[]> {
  const rows = await allPeers(context.db)
  return rows
    .filter(({ next_key, removed_at_ms }) => next_key !== null && removed_at_ms === null)
    .map(({ id }) => id)
}
