import type { SimsParts } from '../parts.ts'
import { ICCID_END, iccidOf } from '../secrets/iccid-index.ts'
import { cardsWithIccidEnd } from '../store/iccid-store.ts'

/**
 * The hashes of SIMs whose ICCID ends with these digits, four at least, revoked ones included. More than four are compared
 * with the sealed ICCIDs of those that share the last four.
 */
export async function hashesByLongIccidEnd(
  { context, vault }: Pick<SimsParts, 'context' | 'vault'>,
  digits: string,
): Promise<ReadonlySet<string>> {
  const sims = await cardsWithIccidEnd(context.db, digits.slice(-ICCID_END))
  return new Set(sims.filter((sim) => iccidOf(vault, sim)?.endsWith(digits) === true).map(({ hash }) => hash))
}
