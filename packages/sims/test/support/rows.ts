import type { SimRow } from '../../src/store/sim-store.ts'

/** A row of a SIM with what a test does not care about. */
export function simRow(
  own: Partial<SimRow> & Pick<SimRow, 'hash' | 'imsi_sealed' | 'secrets_sealed'>,
): SimRow {
  return {
    plmn: '999-99',
    profile: 'p',
    state: 'issued',
    previous_state: null,
    suspend_reason: null,
    apns: '["internet"]',
    downlink_bps: 1_000,
    uplink_bps: 1_000,
    quota_bytes: null,
    usage_bytes: 0,
    msisdn: null,
    label: null,
    batch_id: null,
    iccid_last4: null,
    issued_at_ms: 0,
    expires_at_ms: 1,
    attached_at_ms: null,
    swapped_at_ms: null,
    replaces: null,
    generation: 1,
    hss_status: 'pending',
    hss_driver: null,
    hss_error: null,
    hss_synced_at_ms: null,
    hss_seq: 1,
    iccid_mac: null,
    cap_bps: null,
    reach: null,
    as_is: null,
    found_sealed: null,
    ...own,
  }
}
