import type { CellPlan } from './cell-plan.ts'
import { libconfig } from './libconfig.ts'

/** TS 36.211 §5.7.1: the PRACH is 6 resource blocks wide. */
const PRACH_BLOCKS = 6
/**
 * Resource blocks at each edge of the carrier for the PUCCH. In 6 resource blocks a second one leaves no room for Msg3:
 * srsenb then starts, sends, and lets no phone on. One holds 480 phones that report every 40 ms.
 */
const PUCCH_BLOCKS = 1

/** `sib.conf` of srsenb: system information 1 to 3 (TS 36.331 §6.2.2, §6.3.1). */
export function sibConf(plan: CellPlan): string {
  return libconfig({
    sib1: {
      intra_freq_reselection: 'Allowed',
      q_rx_lev_min: -65,
      cell_barred: 'NotBarred',
      si_window_length: 20,
      sched_info: [{ si_periodicity: 16, si_mapping_info: [3] }],
      system_info_value_tag: 0,
    },
    sib2: {
      rr_config_common_sib: commonRadio(plan),
      ue_timers_and_constants: { t300: 2000, t301: 100, t310: 200, n310: 1, t311: 10_000, n311: 1 },
      freqInfo: { ul_carrier_freq_present: true, ul_bw_present: true, additional_spectrum_emission: 1 },
      time_alignment_timer: 'INFINITY',
    },
    sib3: {
      cell_reselection_common: { q_hyst: 2 },
      cell_reselection_serving: { s_non_intra_search: 3, thresh_serving_low: 2, cell_resel_prio: 6 },
      intra_freq_reselection: {
        q_rx_lev_min: -61,
        p_max: 23,
        s_intra_search: 5,
        presence_ant_port_1: true,
        neigh_cell_cnfg: 1,
        t_resel_eutra: 1,
      },
    },
  })
}

/** RadioResourceConfigCommonSIB (TS 36.331 §6.3.2). */
function commonRadio({ resourceBlocks }: CellPlan): Parameters<typeof libconfig>[0] {
  // In the narrowest carrier the PRACH fills all of it; srsenb wants it beside the PUCCH in all others.
  const isNarrowest = resourceBlocks === PRACH_BLOCKS
  return {
    rach_cnfg: {
      num_ra_preambles: 52,
      preamble_init_rx_target_pwr: -104,
      pwr_ramping_step: 6,
      preamble_trans_max: 10,
      ra_resp_win_size: 10,
      mac_con_res_timer: 64,
      max_harq_msg3_tx: 4,
    },
    bcch_cnfg: { modification_period_coeff: 16 },
    pcch_cnfg: { default_paging_cycle: 32, nB: '1' },
    prach_cnfg: {
      root_sequence_index: 128,
      prach_cnfg_info: {
        high_speed_flag: false,
        prach_config_index: 3,
        prach_freq_offset: isNarrowest ? 0 : PUCCH_BLOCKS,
        zero_correlation_zone_config: 5,
      },
    },
    pdsch_cnfg: { p_b: 1, rs_power: 0 },
    pusch_cnfg: {
      n_sb: 1,
      hopping_mode: 'inter-subframe',
      pusch_hopping_offset: 2,
      enable_64_qam: false,
      ul_rs: {
        cyclic_shift: 0,
        group_assignment_pusch: 0,
        group_hopping_enabled: false,
        sequence_hopping_enabled: false,
      },
    },
    pucch_cnfg: { delta_pucch_shift: 2, n_rb_cqi: PUCCH_BLOCKS, n_cs_an: 0, n1_pucch_an: 12 },
    ul_pwr_ctrl: {
      p0_nominal_pusch: -85,
      alpha: 0.7,
      p0_nominal_pucch: -107,
      delta_flist_pucch: { format_1: 0, format_1b: 3, format_2: 1, format_2a: 2, format_2b: 2 },
      delta_preamble_msg3: 6,
    },
    ul_cp_length: 'len1',
  }
}
