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
