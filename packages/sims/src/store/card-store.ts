import type { Reader } from '@steeple/contracts'
import { listed } from './listed.ts'
import { SIMS, type SimRow } from './sim-store.ts'

const CARD_COLUMNS = 'hash, state, label, batch_id, iccid_last4'

/** What is told of a SIM's card. */
export type CardSim = Pick<SimRow, 'hash' | 'state' | 'label' | 'batch_id' | 'iccid_last4'>

/** Cards by the hashes of their SIMs, at most a hundred, in no order. */
export async function cardsAmong(reader: Reader, hashes: readonly string[]): Promise<readonly CardSim[]> {
  if (hashes.length === 0) return []
  const { where, params } = listed('hash', hashes)
  return await reader.all<CardSim>(`select ${CARD_COLUMNS} from sims_sim where ${where}`, params)
}

const CARDS_OF_BATCH = `select ${CARD_COLUMNS} from sims_sim
  where batch_id = :batch_id and hash > :after order by hash limit :limit`

/** At most `limit` cards of a batch or an import behind a hash, by hash. */
export function cardsOfBatchAfter(
  reader: Reader,
  batchId: string,
  after: string,
  limit: number,
): Promise<readonly CardSim[]> {
  return reader.all<CardSim>(CARDS_OF_BATCH, { batch_id: batchId, after, limit })
}

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
