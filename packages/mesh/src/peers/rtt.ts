import { eachAbreast } from '@steeple/contracts'
import type { PeersParts } from './parts.ts'
import { allPeers, type PeerRow } from './peer-store.ts'

/** Peers that one look asks whether they are there after all: who is not costs it a second. */
const DOUBTFUL_ASKED = 8

/** Echoes at a time, and in one round; the round goes on where the last one ended. */
const ABREAST = 4
const MOST = 64

/** Measures how long an echo (ICMP, RFC 792) takes to active peers that have an address, a part of them each time. */
export function echoRounds(parts: PeersParts): (signal: AbortSignal) => Promise<void> {
  let from = 0
  return async (signal) => {
    const { board, context, driver } = parts
    if (!board.isUp || board.active.size === 0) return
    const all = (await allPeers(context.db)).filter(
      ({ id, address }) => board.active.has(id) && address !== null,
    )
    const start = from < all.length ? from : 0
    const due = all.slice(start, start + MOST)
    from = start + due.length
    await eachAbreast(due, ABREAST, async ({ id, address }) => {
      const ms = await driver.ping(address ?? '', signal)
      if (ms === undefined) board.rtt.delete(id)
      else board.rtt.set(id, ms)
    })
  }
}

/**
 * Asks those that are stale only by a time of day, which may have been set since: one that answers has a session, and
 * sessions end with `ACTIVE_S`. Without this they would be away until their next handshake, up to two minutes.
 */
export async function askDoubtful(
  { board, driver }: PeersParts,
  rows: readonly PeerRow[],
  signal: AbortSignal,
): Promise<void> {
  const due = rows.filter(
    ({ address, public_key: key }) => address !== null && board.handshakeStates.isDoubtful(key),
  )
  await Promise.all(
    due.slice(0, DOUBTFUL_ASKED).map(async ({ address, public_key: key }) => {
      board.handshakeStates.asked(key, (await driver.ping(address ?? '', signal)) !== undefined)
    }),
  )
}
