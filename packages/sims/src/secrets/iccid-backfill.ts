import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Context, isServiceError, storeCorrupt, type Tx, type Vault } from '@steeple/contracts'
import { SIMS } from '../store/sim-store.ts'
import type { IccidMac } from './iccid-index.ts'
import { ALL_INDEXED, type IccidIndex, iccidOf, noteIndexed } from './iccid-index.ts'

/** SIMs of one write: short enough not to hold up other writers. */
const AT_ONCE = 100
/** How long one call works; called each second, a tenth of a core at most. */
const WORK_MS = 80

const CARDS_AFTER = `select hash, iccid_last4, iccid_mac, secrets_sealed from sims_sim
  where hash > :after order by hash limit :limit`

interface Card {
  readonly hash: string
  readonly iccid_last4: string | null
  readonly iccid_mac: Uint8Array | null
  readonly secrets_sealed: Uint8Array
}

/**
 * Indexes the ICCIDs of SIMs that were stored before there was the index, by a version up to 0.2.0,
 * or under a key that is lost. Each call does a
 * piece and remembers how far it came, so a restart goes on there; it does nothing once all are indexed.
 */
export function iccidBackfill(
  { db }: Pick<Context, 'db'>,
  vault: Vault,
  index: IccidIndex,
): (signal: AbortSignal) => Promise<void> {
  let isDone = false
  return async (signal) => {
    if (isDone) return
    const macOf = await index.mac()
    const endMs = performance.now() + WORK_MS
    const before = await index.indexedTo(db)
    let after = before
    while (after < ALL_INDEXED && performance.now() < endMs) {
      signal.throwIfAborted()
      const cards = await db.all<Card>(CARDS_AFTER, { after, limit: AT_ONCE })
      const upTo = cards.length < AT_ONCE ? ALL_INDEXED : (cards.at(-1)?.hash ?? ALL_INDEXED)
      await write(db, missing(vault, macOf, cards), upTo)
      after = upTo
      await nextTurn()
    }
    // Pieces in which nothing was missing are noted in one go.
    if (after !== before) await db.write((tx) => noteIndexed(tx, after))
    isDone = after >= ALL_INDEXED
  }
}

async function write(db: Context['db'], macs: ReadonlyMap<string, Uint8Array>, upTo: string): Promise<void> {
  if (macs.size === 0) return
  await db.write(async (tx) => {
    for (const [hash, mac] of macs) await give(tx, hash, mac)
    await noteIndexed(tx, upTo)
  })
}

/** The keyed hashes that cards lack, by the hash of their SIM. */
function missing(vault: Vault, macOf: IccidMac, cards: readonly Card[]): ReadonlyMap<string, Uint8Array> {
  const macs = new Map<string, Uint8Array>()
  for (const card of cards) {
    if (card.iccid_last4 === null || macOf.isUnder(card.iccid_mac)) continue
    const iccid = iccidOf(vault, card)
    if (iccid !== undefined) macs.set(card.hash, macOf(iccid))
  }
  return macs
}

async function give(tx: Tx, hash: string, mac: Uint8Array): Promise<void> {
  try {
    const row = await SIMS.find(tx, { hash })
    if (row !== undefined) await SIMS.change(tx, row, { ...row, iccid_mac: mac })
  } catch (error) {
    // A damaged row stays as it is; the check of the store reports it.
    if (!isServiceError(error) || error.code !== storeCorrupt.code) throw error
  }
}
