import { type LibconfigGroup, libconfig } from './libconfig.ts'

/** TS 23.203 table 6.1.7-A: classes that lose packets rather than wait for them (voice, video, gaming). */
const UNACKNOWLEDGED: readonly number[] = [1, 2, 3, 4, 7]
/** TS 23.203 table 6.1.7-A: signalling and classes that repeat what was lost. 9 is the default bearer. */
const ACKNOWLEDGED: readonly number[] = [5, 6, 8, 9]

/**
 * `rb.conf` of srsenb: a radio bearer for each standard class, so that no bearer of the core is refused.
 *
 * The sections of 5G are required from release 22.04 on, whatever the cell emits; earlier releases overlook them.
 */
export function rbConf(): string {
  return libconfig({
    qci_config: [...UNACKNOWLEDGED.map(unacknowledged), ...ACKNOWLEDGED.map(acknowledged)],
    srb1_5g_config: SIGNALLING_5G,
    srb2_5g_config: SIGNALLING_5G,
    five_qi_config: [DEFAULT_BEARER_5G],
  })
}

function unacknowledged(qci: number): LibconfigGroup {
  return {
    qci,
    pdcp_config: { discard_timer: 100, pdcp_sn_size: 12 },
    rlc_config: { ul_um: { sn_field_length: 10 }, dl_um: { sn_field_length: 10, t_reordering: 45 } },
    logical_channel_config: { ...channel, priority: 13, log_chan_group: 2 },
    enb_specific: { dl_max_retx_thresh: 32 },
  }
}

function acknowledged(qci: number): LibconfigGroup {
  return {
    qci,
    pdcp_config: { discard_timer: 150, status_report_required: true },
    rlc_config: {
      ul_am: { t_poll_retx: 120, poll_pdu: 64, poll_byte: 750, max_retx_thresh: 16 },
      dl_am: { t_reordering: 50, t_status_prohibit: 50 },
    },
    logical_channel_config: { ...channel, priority: 11, log_chan_group: 3 },
    enb_specific: { dl_max_retx_thresh: 32 },
  }
}

/** -1 is no limit. */
const channel: LibconfigGroup = { prioritized_bit_rate: -1, bucket_size_duration: 100 }

/** TS 38.331 §9.2.1: signalling bearers by default. Sequence numbers have 12 bits (TS 38.322 §6.2.3.3). */
const SIGNALLING_5G: LibconfigGroup = {
  rlc_config: {
    ul_am: { sn_field_len: 12, t_poll_retx: 45, poll_pdu: -1, poll_byte: -1, max_retx_thres: 8 },
    dl_am: { sn_field_len: 12, t_reassembly: 35, t_status_prohibit: 0 },
  },
}

/** TS 23.501 table 5.7.4-1: 9 is the default bearer. */
const DEFAULT_BEARER_5G: LibconfigGroup = {
  five_qi: 9,
  pdcp_nr_config: {
    drb: { pdcp_sn_size_ul: 18, pdcp_sn_size_dl: 18, discard_timer: 150 },
    t_reordering: 50,
  },
  rlc_config: {
    am: {
      ul_am: { sn_field_len: 12, t_poll_retx: 50, poll_pdu: 4, poll_byte: 3_000, max_retx_thres: 4 },
      dl_am: { sn_field_len: 12, t_reassembly: 50, t_status_prohibit: 50 },
    },
  },
}
