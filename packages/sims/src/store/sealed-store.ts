import type { Reader } from '@steeple/contracts'
import { listed } from './listed.ts'
import { SIMS, type SimRow } from './sim-row.ts'

/** Whole rows by their hashes, in no order. Throws `store_corrupt`. */
export async function simsOf(reader: Reader, hashes: readonly string[]): Promise<readonly SimRow[]> {
  if (hashes.length === 0) return []
  const { where, params } = listed('hash', hashes)
  return await SIMS.select(reader, `where ${where}`, params)
}

/** At most `limit` SIMs of a batch, by hash. Throws `store_corrupt`. */
export function simsOfBatch(reader: Reader, batchId: string, limit: number): Promise<readonly SimRow[]> {
  const rest = 'where batch_id = :batch_id order by hash limit :limit'
  return SIMS.select(reader, rest, { batch_id: batchId, limit })
}

/** A SIM with its card, sealed, and what is indexed of it. */
type IndexedCard = Pick<SimRow, 'hash' | 'secrets_sealed' | 'iccid_mac'>

const ICCID_ENDS = `select hash, secrets_sealed, iccid_mac from sims_sim
  where iccid_last4 = :last4 and hash > :after and state <> 'revoked'`

/** The SIMs behind `after` that are not revoked and whose ICCID ends in these digits. Not checked, but sealed. */
export function simsWithIccidEnd(
  reader: Reader,
  last4: string,
  after: string,
): Promise<readonly IndexedCard[]> {
  return reader.all<IndexedCard>(ICCID_ENDS, { last4, after })
}

/** A SIM with its card, sealed. */
export type CardOfSim = Pick<SimRow, 'hash' | 'secrets_sealed'>

/** The SIMs whose ICCID ends in these four digits, revoked ones included. Not checked, but sealed. */
export function cardsWithIccidEnd(reader: Reader, end: string): Promise<readonly CardOfSim[]> {
  const sql = 'select hash, secrets_sealed from sims_sim where iccid_last4 = :end'
  return reader.all<CardOfSim>(sql, { end })
}
