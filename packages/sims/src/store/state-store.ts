import type { Reader } from '@steeple/contracts'
import type { SimRow } from './sim-row.ts'

const STATES_AFTER =
  'select hash, state, suspend_reason from sims_sim where hash > :after order by hash limit :limit'

/** The standing of at most `limit` SIMs with a hash behind `after`, by hash. Not checked. */
export function statesAfter(
  reader: Reader,
  after: string,
  limit: number,
): Promise<readonly Pick<SimRow, 'hash' | 'state' | 'suspend_reason'>[]> {
  return reader.all(STATES_AFTER, { after, limit })
}
