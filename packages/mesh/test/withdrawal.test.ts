import type { Context, Vault } from '@steeple/contracts'
import { assert, fakeClock, fakeContext, memoryDb, suite, tempDir } from '@steeple/testkit'
import type { PeeringConfig } from '../src/config.ts'
import { ACTIVE_S } from '../src/peers/handshake-state.ts'
import { linkReconciler } from '../src/peers/link-reconciler.ts'
import { ownKey } from '../src/peers/own-key.ts'
import { createBoard, LINK_KEY, type PeersParts } from '../src/peers/parts.ts'
import { PEER_MIGRATIONS, PEERS, type PeerRow } from '../src/peers/peer-store.ts'
import { fakeLink } from './support/fake-link.ts'
import { peerRow, someKey } from './support/peers-world.ts'

const withdrawal = suite('mesh/withdrawal')
const ROUTE = '10.20.0.0/16'
/** Contract section 9. */
const BOUND_MS = 10_000
const SIGNAL = new AbortController().signal

/** The reconciler of links on a clock that stands still but for the test, with one active peer. */
async function activePeer(dir: string) {
  const clock = fakeClock(Date.UTC(2026, 5, 15, 12))
  const db = memoryDb(PEER_MIGRATIONS)
  const link = fakeLink(clock)
  const config = {
    ...{ enabled: true, interface: 'svcmesh0', listen_port: 51820, subnet: '100.64.0.0/16' },
    ...{ endpoint: '', advertise: [], approve: [] },
  }
  const { context } = fakeContext({ id: 'mesh', config, clock, db })
  const row: PeerRow = peerRow({ public_key: someKey(), routes: [ROUTE] })
  await db.write((tx) => PEERS.put(tx, row))
  const parts: PeersParts = {
    // The keys that are not here are of other parts of the plugin.
    context: context as unknown as Context<PeeringConfig>,
    members: {
      overlay: () => undefined,
      list: () => [],
      hasPutOut: () => false,
      isRevoked: () => false,
      publish: async () => {},
      onChange: () => () => {},
    },
    suggestions: { list: () => [], get: () => undefined, confirm: never },
    // Nothing is sealed.
    vault: {} as Vault,
    driver: link,
    key: ownKey(dir),
    resolver: { addressOf: async (host) => host },
    board: createBoard(clock),
  }
  const reconciler = linkReconciler(parts)
  const look = async (): Promise<string> => {
    const outcome = await reconciler.reconcile([LINK_KEY], SIGNAL)
    return 'state' in outcome ? outcome.state : ''
  }
  await look()
  link.touch(row.public_key, { handshakeAtS: clock.nowMs() / 1_000, rxBytes: 92 })
  await look()
  assert.equal(link.link?.routes, [ROUTE])
  return { clock, link, look, reconciler, row }
}

async function never(): Promise<never> {
  throw new Error('nobody was heard')
}

withdrawal('of the routes of a stale peer is at the next look, which is within ten seconds', async () => {
  await using dir = await tempDir()
  const { clock, link, look, reconciler, row } = await activePeer(dir.path)
  const paceMs = reconciler.resyncMs
  // The worst case: a look right before its time is over.
  await clock.advance(ACTIVE_S * 1_000 - 1)
  await look()
  assert.equal(link.link?.routes, [ROUTE])
  const staleMs = clock.monotonicMs() + 1
  while (link.withdrawnAtMs === undefined && clock.monotonicMs() < staleMs + 2 * BOUND_MS) {
    await clock.advance(paceMs)
    await look()
  }
  assert.ok((link.withdrawnAtMs ?? Number.POSITIVE_INFINITY) - staleMs <= BOUND_MS, `${link.withdrawnAtMs}`)
  assert.equal([link.link?.routes, link.peer(row.public_key)?.allowedIps], [[], []])
  // It is back with its next handshake.
  link.touch(row.public_key, { handshakeAtS: clock.nowMs() / 1_000 })
  await look()
  assert.equal(link.link?.routes, [ROUTE])
})

withdrawal('is no later when looks have failed before it', async () => {
  await using dir = await tempDir()
  const { clock, link, look, reconciler } = await activePeer(dir.path)
  await clock.advance(ACTIVE_S * 1_000 - 1)
  link.problem = 'wg does not answer'
  assert.is(await look(), 'failed')
  link.problem = undefined
  const longestMs = reconciler.backoff?.longestMs ?? Number.POSITIVE_INFINITY
  assert.ok(longestMs <= BOUND_MS, `the next look is up to ${longestMs} ms away`)
  await clock.advance(longestMs)
  await look()
  assert.equal(link.link?.routes, [])
})

withdrawal.run()
