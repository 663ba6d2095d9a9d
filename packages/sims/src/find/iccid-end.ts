import type { Reader, Vault } from '@steeple/contracts'
import { iccidOf } from '../secrets/iccid-index.ts'
import { cardsWithIccidEnd } from '../store/sealed-store.ts'

/** Digits of an ICCID that are stored in clear. */
export const ICCID_END = 4

/**
 * The hashes of SIMs whose ICCID ends with these digits, four at least, revoked ones included. More than four are compared
 * with the sealed ICCIDs of those that share the last four.
 */
export async function hashesByLongIccidEnd(
  reader: Reader,
  vault: Vault,
  digits: string,
): Promise<ReadonlySet<string>> {
  const sims = await cardsWithIccidEnd(reader, digits.slice(-ICCID_END))
  return new Set(sims.filter((sim) => iccidOf(vault, sim)?.endsWith(digits) === true).map(({ hash }) => hash))
}
