import type { SimsParts } from '../parts.ts'
import type { SimRow } from '../store/sim-row.ts'

/** What is known in the HSS of a SIM that comes into the store at `nowMs`: with no HSS to push to, all is done. */
export function firstHss(
  { hss }: SimsParts,
  nowMs: number,
): Pick<SimRow, 'hss_status' | 'hss_driver' | 'hss_error' | 'hss_synced_at_ms' | 'hss_seq'> {
  const isNone = hss.driver()?.name === 'none'
  return {
    hss_status: isNone ? 'synced' : 'pending',
    hss_driver: isNone ? 'none' : null,
    hss_error: null,
    hss_synced_at_ms: isNone ? nowMs : null,
    hss_seq: 1,
  }
}
