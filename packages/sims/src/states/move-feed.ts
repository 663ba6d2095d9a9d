import { randomBytes } from 'node:crypto'
import { type SubscriberMoves, untilAborted } from '@steeple/contracts'
import type { SimState } from './machine.ts'

/** One move, by the hash of its SIM. */
export interface Move {
  readonly imsi: string
  readonly from: SimState | undefined
  readonly to: SimState
}

/** The newest moves, for others to follow. */
export interface MoveFeed {
  add(move: Move): void
  /** The SIMs that have moved since this was asked last; for the one that watches the phones. */
  takeMoved(): ReadonlySet<string>
  /** See `Subscribers.moves`. */
  since(cursor: string | undefined, signal: AbortSignal): Promise<SubscriberMoves>
}

/** Moves that are kept for those who follow. */
const KEPT = 20_000
/** Moves of one answer. */
const MOST = 5_000

/** A feed that begins now. Cursors of another one (before a restart, of another copy) count as a gap. */
export function moveFeed(): MoveFeed {
  const epoch = randomBytes(6).toString('hex')
  const kept: Move[] = []
  /** Number of the first move that is kept; they are numbered from 1. */
  let first = 1
  let moved = new Set<string>()
  let news = Promise.withResolvers<void>()
  const last = (): number => first + kept.length - 1

  const placeOf = (cursor: string | undefined): number | undefined => {
    const [of, number] = (cursor ?? '').split('.')
    const place = Number(number)
    return of === epoch && Number.isInteger(place) && place >= first - 1 && place <= last()
      ? place
      : undefined
  }

  return {
    add: (move) => {
      kept.push(move)
      // New ones cannot be attached yet.
      if (move.from !== undefined) moved.add(move.imsi)
      // Cut in one go now and then: a shift for each move would cost more.
      if (kept.length > 2 * KEPT) first += kept.splice(0, KEPT).length
      const told = news
      news = Promise.withResolvers()
      told.resolve()
    },
    takeMoved: () => {
      const taken = moved
      moved = new Set()
      return taken
    },
    since: async (cursor, signal) => {
      signal.throwIfAborted()
      const place = placeOf(cursor)
      if (place === undefined) return { cursor: `${epoch}.${last()}`, moves: [], isGap: true }
      while (place === last()) await untilAborted(news.promise, signal)
      // So much was added while this one slept that its place is gone.
      if (place < first - 1) return { cursor: `${epoch}.${last()}`, moves: [], isGap: true }
      const found = kept.slice(place + 1 - first, place + 1 - first + MOST)
      const moves = found.map(
        // Hashes of the store are hashes.
        (move) => move as SubscriberMoves['moves'][number],
      )
      return { cursor: `${epoch}.${place + moves.length}`, moves, isGap: false }
    },
  }
}
