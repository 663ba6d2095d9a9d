import type { Reader } from '@steeple/contracts'
import { listed } from './listed.ts'
import type { SimRow } from './sim-row.ts'

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
