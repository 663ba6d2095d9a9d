import type { PeersParts } from './parts.ts'
import { allPeers } from './peer-store.ts'

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
    const waiting = [...due]
    const worker = async (): Promise<void> => {
      for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
        const ms = await driver.ping(row.address ?? '', signal)
        if (ms === undefined) board.rtt.delete(row.id)
        else board.rtt.set(row.id, ms)
      }
    }
    await Promise.all(Array.from({ length: ABREAST }, worker))
  }
}
