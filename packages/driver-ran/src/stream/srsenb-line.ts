import { firstMeaning, plainLine, type RadioEvent, type Rule } from './radio-event.ts'

/** Scales the cell's samples by 10^-10 within a subframe. `0`, `-inf` and `nan` would mean full power. */
export function muteLine(cellId: number): string {
  return `cell_gain ${cellId} -200\n`
}

const S1 = /^\S+ \[S1AP\s*\] \[.\] /u.source

const RULES: readonly Rule[] = [
  [/^==== eNodeB started ===/u, () => ({ kind: 'started' })],
  [
    /^Setting frequency: DL=([0-9.]+) Mhz, UL=([0-9.]+) MHz for cc_idx=\d+ nof_prb=(\d+)/iu,
    ([, downlink, uplink, blocks]) => ({
      kind: 'carrier',
      downlinkMhz: Number(downlink),
      uplinkMhz: Number(uplink),
      resourceBlocks: Number(blocks),
    }),
  ],
  [
    /^Opening \d+ channels? in RF device=(\S*) with args=/u,
    ([, name = '']) => ({ kind: 'device', name: name.toLowerCase() }),
  ],
  [/^Warning: TX gain was not set/u, () => ({ kind: 'gain_ignored' })],
  [
    new RegExp(`${S1}Proc "MME Connection" - S1Setup procedure completed successfully`, 'u'),
    () => ({ kind: 'connected' }),
  ],
  [
    /^S1 Setup Failure\. Cause: (.{1,200})/u,
    ([, cause = '']) => ({ kind: 'disconnected', reason: `S1 setup refused: ${cause}` }),
  ],
  [/^S1setup failed/u, () => ({ kind: 'disconnected', reason: 'S1 setup failed' })],
  [
    /^(?:Failed to initiate S1 connection|Restarting S1 connection)/u,
    ([text]) => ({ kind: 'disconnected', reason: text }),
  ],
  [
    /^SCTP (?:Association Shutdown|peer address unreachable|remote error)/u,
    ([text]) => ({ kind: 'disconnected', reason: text }),
  ],
  [new RegExp(`${S1}Restarting S1 connection`, 'u'), () => ({ kind: 'disconnected', reason: 'S1 lost' })],
  [
    /^: Socket type not supported/u,
    () => ({ kind: 'disconnected', reason: 'the kernel has no SCTP (modprobe sctp)' }),
  ],
  [/^RACH: {1,2}tti=/u, () => ({ kind: 'random_access' })],
  [/^User (0x[0-9a-f]{1,4}) connected/iu, ([, rnti = '']) => ({ kind: 'ue_connected', rnti })],
  [/^Disconnecting rnti=(0x[0-9a-f]{1,4})\b/iu, ([, rnti = '']) => ({ kind: 'ue_gone', rnti })],
  [
    /^RF status: O=(\d{1,9}), U=(\d{1,9}), L=(\d{1,9})/u,
    ([, over, under, late]) => ({
      kind: 'rf_error',
      count: Number(over) + Number(under) + Number(late),
    }),
  ],
  [/\bTX failed: /u, () => ({ kind: 'rf_error', count: 1 })],
  [/^srsRAN crashed\./u, () => ({ kind: 'crashed' })],
  [/^Couldn't stop after \d+s\. Forcing exit\./u, () => ({ kind: 'forced_exit' })],
  [/^Stopping \.\./u, () => ({ kind: 'stopping' })],
]

/** What a line of srsenb's standard output or error means; undefined when nothing that the driver needs. */
export function srsenbEvent(line: string): RadioEvent | undefined {
  return firstMeaning(RULES, plainLine(line))
}
