import type { CellPlan } from './cell-plan.ts'
import { coreAddress, gtpAddress, isVirtualDevice, type RadioInput } from './radio-input.ts'

/** Gain of a profile that states none, dB. Only a virtual radio has no stated gain. */
const VIRTUAL_TX_GAIN_DB = 80
/** srsenb's receive gain when the profile states none, dB. Never 0 or less: that would be automatic gain control. */
const RX_GAIN_DB = 40

/** Sample rate in MHz by resource blocks, as srsenb uses it. */
const SAMPLE_RATE_MHZ: ReadonlyMap<number, number> = new Map([
  [6, 1.92],
  [15, 3.84],
  [25, 5.76],
  [50, 11.52],
  [75, 15.36],
  [100, 23.04],
])

/** `enb.conf` of srsenb: an INI file without quotes (they would become part of the value). */
export function enbConf(input: RadioInput, plan: CellPlan): string {
  const { plmn, profile, ran, directory } = input
  return sections({
    enb: {
      enb_id: `0x${ran.enb_id.toString(16).toUpperCase().padStart(5, '0')}`,
      name: 'steeple',
      mcc: plmn.mcc,
      mnc: plmn.mnc,
      mme_addr: coreAddress(input),
      gtp_bind_addr: gtpAddress(input),
      ...(ran.gtp_advertise_addr === '' ? {} : { gtp_advertise_addr: ran.gtp_advertise_addr }),
      s1c_bind_addr: ran.bind_addr,
      s1c_bind_port: 0,
      n_prb: plan.resourceBlocks ?? 0,
      tm: 1,
      nof_ports: 1,
    },
    enb_files: {
      sib_config: `${directory}/sib.conf`,
      rr_config: `${directory}/rr.conf`,
      rb_config: `${directory}/rb.conf`,
    },
    rf: {
      device_name: ran.device_name,
      device_args: deviceArgs(input, plan),
      tx_gain: decimal(profile.tx_gain_db ?? VIRTUAL_TX_GAIN_DB),
      rx_gain: decimal(profile.rx_gain_db ?? RX_GAIN_DB),
    },
    // stdout is flushed at each line; a file lags by minutes. Without hex dumps no message of a phone gets out.
    log: { filename: 'stdout', all_level: 'warning', s1ap_level: 'info', all_hex_limit: 0 },
    // The metrics period bounds how long a stop takes. The program prefers no ciphering unless told otherwise.
    expert: {
      metrics_period_secs: 0.1,
      eea_pref_list: 'EEA2, EEA1, EEA0',
      eia_pref_list: 'EIA2, EIA1, EIA0',
      rrc_inactivity_timer: 30_000,
      report_json_enable: false,
      metrics_csv_enable: false,
      alarms_log_enable: false,
    },
  })
}

/** Positive decimals without an exponent; `0.1` is the least power srsenb can be told. */
export function decimal(value: number): string {
  return value.toFixed(2).replace(/\.?0+$/u, '')
}

function deviceArgs({ ran }: RadioInput, plan: CellPlan): string {
  if (!isVirtualDevice(ran) || ran.device_args !== 'auto') return ran.device_args
  const rate = SAMPLE_RATE_MHZ.get(plan.resourceBlocks ?? 0) ?? 0
  return `fail_on_disconnect=true,tx_port=tcp://127.0.0.1:2000,rx_port=tcp://127.0.0.1:2001,id=enb,base_srate=${rate}e6`
}

function sections(
  parts: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>,
): string {
  return Object.entries(parts)
    .map(([name, values]) => {
      const lines = Object.entries(values).map(([key, value]) => `${key} = ${value}`)
      return `[${name}]\n${lines.join('\n')}\n`
    })
    .join('\n')
}
