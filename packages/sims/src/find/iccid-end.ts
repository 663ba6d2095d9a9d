import type { SimsParts } from '../parts.ts'
import { iccidOf } from '../secrets/iccid-index.ts'
import { ICCID_END } from '../secrets/iccid-mac.ts'
import { cardsWithIccidEnd, hashesByIccidEnd, type IccidPiece } from '../store/iccid-store.ts'

/** What of the plugin a look for last digits needs. */
type Looking = Pick<SimsParts, 'context' | 'vault' | 'iccids' | 'counters'>

/**
 * The hashes of SIMs whose ICCID ends with these digits, four at least, revoked ones included. More than four are compared
 * with the sealed ICCIDs of those that share the last four.
 */
export async function hashesByLongIccidEnd(looking: Looking, digits: string): Promise<ReadonlySet<string>> {
  return await hashesWithEnd(looking, digits, await looking.iccids.pieces(looking.counters.total))
}

/** The hashes of SIMs with that ICCID, revoked ones included: without a look through all of the index. */
export async function hashesByIccid(looking: Looking, iccid: string): Promise<ReadonlySet<string>> {
  return await hashesWithEnd(looking, iccid, await looking.iccids.piecesOf(iccid))
}

async function hashesWithEnd(
  { context, vault }: Looking,
  digits: string,
  pieces: readonly IccidPiece[],
): Promise<ReadonlySet<string>> {
  const sims = await cardsWithIccidEnd(context.db, digits.slice(-ICCID_END), pieces)
  return new Set(sims.filter((sim) => iccidOf(vault, sim)?.endsWith(digits) === true).map(({ hash }) => hash))
}

/** `limit` hashes of SIMs whose ICCID ends in one of these four digits, or somewhat more; all of them when they are fewer. */
export async function hashesByIccidEnds(
  { context, iccids, counters }: Looking,
  ends: readonly string[],
  limit: number,
): Promise<readonly string[]> {
  return await hashesByIccidEnd(context.db, ends, await iccids.pieces(counters.total), limit)
}
