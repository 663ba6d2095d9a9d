import type { ImsiHash } from '@steeple/contracts'
import { FRESH, type SimRow } from '../../src/store/sim-store.ts'

/** A row of a SIM with what a test does not care about. */
export function simRow(
  own: Partial<Omit<SimRow, 'hash'>> &
    Pick<SimRow, 'imsi_sealed' | 'secrets_sealed'> & { readonly hash: string },
): SimRow {
  return {
    ...FRESH,
    plmn: '999-99',
    profile: 'p',
    apns: '["internet"]',
    downlink_bps: 1_000,
    uplink_bps: 1_000,
    issued_at_ms: 0,
    expires_at_ms: 1,
    hss_status: 'pending',
    hss_driver: null,
    hss_error: null,
    hss_synced_at_ms: null,
    hss_seq: 1,
    ...own,
    hash: own.hash as ImsiHash,
  }
}
