import { cellFaultOf, SRSENB_CELL_FAULTS } from './cell-faults.ts'
import {
  CAUSE_CHARACTERS,
  firstMeaning,
  lastDigitOf,
  plainLine,
  type RadioEvent,
  type Rule,
} from './radio-event.ts'

/** Scales the cell's samples by 10^-10 within a subframe. `0`, `-inf` and `nan` would mean full power. */
export function muteLine(cellId: number): string {
  return `cell_gain ${cellId} -200\n`
}

const S1 = /\S+ \[S1AP\s*\] \[.\] /u.source

/**
 * Proof that the program refuses what it was given: it would end the same way the next time. What names nothing
 * (`Error processing arguments`) comes last, so the first of them tells the most.
 */
const CONFIG_CAUSE = new RegExp(
  [
    'unrecognised option',
    "the argument \\('.{0,80}'\\) for option",
    'Error parsing .{1,200}',
    'Failed to read (?:\\S+ )?configuration file',
    'Parse error at ',
    'PARSER ERROR: ',
    'Error section .{1,80} not found',
    'Optional 5G SRB configuration is not supported',
    'Please specify 5G SRB1',
    'Invalid DL_EARFCN=',
    'Invalid number of ports',
    'Invalid PRACH configuration',
    'The provided mnc=',
    "RF device '[^']*' not found",
    'Failed to bind on address .{1,80}Cannot assign requested address',
    'Error processing arguments',
  ].join('|'),
  'iu',
)
/** The device may be there the next time. The first of them names it. */
const DEVICE_CAUSE =
  /Error initializing radio|Failed to open a RF frontend|Unable to open RF device|No (?:\S+ )?devices? found|Error: binding \S+ socket|\[(?:zmq|uhd|bladerf|soapy\w*)\] Error: |exceeded maximum number of timed out/iu

const RULES: readonly Rule[] = [
  [/^==== eNodeB started ===/u, () => ({ kind: 'started' })],
  [
    /^Setting frequency: DL=([0-9.]+) Mhz, UL=([0-9.]+) MHz for cc_idx=\d+ nof_prb=(\d+)/iu,
    ([, downlink = '', uplink, blocks]) => ({
      kind: 'carrier',
      stepMhz: lastDigitOf(downlink),
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
    new RegExp(`^${S1}Proc "MME Connection" - S1Setup procedure completed successfully`, 'u'),
    () => ({ kind: 'connected' }),
  ],
  [
    new RegExp(`^(?:${S1})?S1 Setup Failure\\. Cause: (.{1,200})`, 'u'),
    ([, cause = '']) => ({ kind: 'disconnected', reason: `S1 setup refused: ${cause}` }),
  ],
  [/^S1setup failed/u, () => ({ kind: 'disconnected', reason: 'S1 setup failed', isVague: true })],
  [
    // On the console, which the log may follow or precede, and in the log, in the order of what happened.
    new RegExp(`^(?:${S1}.*- )?(Failed to initiate S1 connection.*)`, 'u'),
    ([, reason = '']) => ({ kind: 'disconnected', reason, isVague: true }),
  ],
  [/^Restarting S1 connection/u, ([text]) => ({ kind: 'disconnected', reason: text })],
  [new RegExp(`^${S1}.*- Starting new MME connection`, 'u'), () => ({ kind: 'attempt', reason: undefined })],
  [
    new RegExp(`^${S1}.*- Could not connected? to MME`, 'u'),
    () => ({ kind: 'attempt', reason: 'nobody answers at the address of the MME' }),
  ],
  [
    new RegExp(`^${S1}.*- Connected to MME`, 'u'),
    () => ({
      kind: 'attempt',
      reason: 'the MME is there, but does not answer the S1 setup',
    }),
  ],
  [
    /^SCTP (?:Association Shutdown|peer address unreachable|remote error)/u,
    ([text]) => ({ kind: 'disconnected', reason: text }),
  ],
  [new RegExp(`^${S1}Restarting S1 connection`, 'u'), () => ({ kind: 'disconnected', reason: 'S1 lost' })],
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
  [CONFIG_CAUSE, ({ input }) => ({ kind: 'cause', of: 'config', text: input.slice(0, CAUSE_CHARACTERS) })],
  [DEVICE_CAUSE, ({ input }) => ({ kind: 'cause', of: 'device', text: input.slice(0, CAUSE_CHARACTERS) })],
  [/^srsRAN crashed\./u, () => ({ kind: 'crashed' })],
  [/^Couldn't stop after \d+s\. Forcing exit\./u, () => ({ kind: 'forced_exit' })],
  [/^Stopping \.\./u, () => ({ kind: 'stopping' })],
]

/** What a line of srsenb's standard output or error means; undefined when nothing that the driver needs. */
export function srsenbEvent(line: string): RadioEvent | undefined {
  const plain = plainLine(line)
  return cellFaultOf(SRSENB_CELL_FAULTS, plain) ?? firstMeaning(RULES, plain)
}
