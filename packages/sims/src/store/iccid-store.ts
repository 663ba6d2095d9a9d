import type { Reader, SqlValue } from '@steeple/contracts'

const BY_ICCID =
  "select hash from sims_sim where iccid_last4 = :last4 and iccid_mac = :mac and state <> 'revoked' limit 1"

/** The SIM that is not revoked and has the ICCID with that end and keyed hash, as far as it is indexed. */
export async function simWithIccid(
  reader: Reader,
  last4: string,
  mac: Uint8Array,
): Promise<string | undefined> {
  return (await reader.get<{ readonly hash: string }>(BY_ICCID, { last4, mac }))?.hash
}

/** An ICCID by its end and its keyed hash. */
interface KeyedIccid {
  readonly last4: string
  readonly mac: Uint8Array
}

/** Cards that one statement looks for. */
const CARDS_AT_ONCE = 50
/** Each card is a look into the index: lists of ends and of hashes would make SQLite look for each end with each hash. */
const BY_ICCIDS = `select hash, iccid_mac from sims_sim where state <> 'revoked' and (${Array.from(
  { length: CARDS_AT_ONCE },
  (_, i) => `(iccid_last4 = :last4_${i} and iccid_mac = :mac_${i})`,
).join(' or ')})`

/** The SIMs that are not revoked and have one of these ICCIDs, as far as they are indexed, in no order. */
export async function simsWithIccids(
  reader: Reader,
  cards: readonly KeyedIccid[],
): Promise<readonly { readonly hash: string; readonly iccid_mac: Uint8Array }[]> {
  const found: { readonly hash: string; readonly iccid_mac: Uint8Array }[] = []
  for (let from = 0; from < cards.length; from += CARDS_AT_ONCE) {
    const params: Record<string, SqlValue> = {}
    // A list that is shorter repeats its last card, so that there is one statement.
    for (let i = 0; i < CARDS_AT_ONCE; i++) {
      const card = cards[Math.min(from + i, cards.length - 1)]
      params[`last4_${i}`] = card?.last4 ?? null
      params[`mac_${i}`] = card?.mac ?? null
    }
    found.push(...(await reader.all<(typeof found)[number]>(BY_ICCIDS, params)))
  }
  return found
}

/** Whether any SIM has an ICCID. */
export async function hasIccids(reader: Reader): Promise<boolean> {
  const sql = 'select hash from sims_sim where iccid_last4 is not null limit 1'
  return (await reader.get(sql)) !== undefined
}
