import { listed, type Reader, type SqlValue } from '@steeple/contracts'
import type { MacRange } from '../secrets/iccid-index.ts'
import { hashList, type SimRow } from './sim-store.ts'

const BY_ICCID =
  "select hash from sims_sim where iccid_mac = :mac and iccid_last4 = :last4 and state <> 'revoked' limit 1"

/** The SIM that is not revoked and has the ICCID with that keyed hash and that end. */
export async function simWithIccid(
  reader: Reader,
  last4: string,
  mac: Uint8Array,
): Promise<string | undefined> {
  return (await hashList(reader, BY_ICCID, { last4, mac }))[0]
}

/** An ICCID by its end and its keyed hash. */
interface KeyedIccid {
  readonly last4: string
  readonly mac: Uint8Array
}

/** A SIM with what its card is found by. */
interface KeyedSim extends Pick<SimRow, 'hash'> {
  readonly iccid_mac: Uint8Array
  readonly iccid_last4: string
}

/** Cards that one statement looks for. */
const CARDS_AT_ONCE = 50
/** Each card is a look into the index: lists of ends and of hashes would make SQLite look for each end with each hash. */
const BY_ICCIDS = `select hash, iccid_mac, iccid_last4 from sims_sim where state <> 'revoked' and (${Array.from(
  { length: CARDS_AT_ONCE },
  (_, i) => `(iccid_mac = :mac_${i} and iccid_last4 = :last4_${i})`,
).join(' or ')})`

/** The SIMs that are not revoked and have one of these ICCIDs, in no order. */
export async function simsWithIccids(
  reader: Reader,
  cards: readonly KeyedIccid[],
): Promise<readonly KeyedSim[]> {
  const found: KeyedSim[] = []
  for (let from = 0; from < cards.length; from += CARDS_AT_ONCE) {
    const params: Record<string, SqlValue> = {}
    // A list that is shorter repeats its last card, so that there is one statement.
    for (let i = 0; i < CARDS_AT_ONCE; i++) {
      const card = cards[Math.min(from + i, cards.length - 1)]
      params[`last4_${i}`] = card?.last4 ?? null
      params[`mac_${i}`] = card?.mac ?? null
    }
    found.push(...(await reader.all<KeyedSim>(BY_ICCIDS, params)))
  }
  return found
}

/** Whether any SIM has an ICCID. */
export async function hasIccids(reader: Reader): Promise<boolean> {
  const keyed = 'select hash from sims_sim where iccid_mac is not null limit 1'
  const bare = 'select hash from sims_sim where iccid_mac is null and iccid_last4 is not null limit 1'
  return (await reader.get(keyed)) !== undefined || (await reader.get(bare)) !== undefined
}

/** Whether any SIM has a keyed hash of that range. */
export async function hasMacIn(reader: Reader, { from, to }: MacRange): Promise<boolean> {
  const sql = 'select hash from sims_sim where iccid_mac >= :from and iccid_mac < :to limit 1'
  return (await reader.get(sql, { from, to })) !== undefined
}

/** A SIM with its card, sealed. */
type CardOfSim = Pick<SimRow, 'hash' | 'state' | 'secrets_sealed' | 'iccid_mac'>

const BY_END = 'select hash, state, secrets_sealed, iccid_mac from sims_sim where iccid_last4 = :last4'

/** The SIMs whose ICCID ends in these four digits, revoked ones included. Not checked, but sealed. */
export async function cardsWithIccidEnd(reader: Reader, last4: string): Promise<readonly CardOfSim[]> {
  return await reader.all<CardOfSim>(BY_END, { last4 })
}

/** `limit` hashes of SIMs whose ICCID ends in one of these four digits; all of them when they are fewer. */
export async function hashesByIccidEnd(
  reader: Reader,
  ends: readonly string[],
  limit: number,
): Promise<readonly string[]> {
  const { where, params } = listed('iccid_last4', ends)
  return await hashList(reader, `select hash from sims_sim where ${where} limit :limit`, { ...params, limit })
}
