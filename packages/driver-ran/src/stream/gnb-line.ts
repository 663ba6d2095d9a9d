import { cellFaultOf, GNB_CELL_FAULTS } from './cell-faults.ts'
import {
  CAUSE_CHARACTERS,
  firstMeaning,
  lastDigitOf,
  plainLine,
  type RadioEvent,
  type Rule,
} from './radio-event.ts'

/** Proof that the program refuses what it was given. An address of NG-U that another program holds is none. */
const CONFIG_CAUSE =
  /Factory for radio type \S+ not found|^(?:srsRAN|OCUDU) ERROR: .*(?:invalid|incorrect|duplicate|mandatory|required(?! NG-U)|not supported|must be|out of bounds|cannot be|valid )/iu
/** The device may be there the next time. */
const DEVICE_CAUSE =
  /Unable to create radio session|No (?:\S+ )?devices? found|exceeded maximum number of timed out/iu

/** A line of figures names the phones near its 400th character, and further back the more there is to tell. */
const FIGURES_CHARACTERS = 1_000

const RULES: readonly Rule[] = [
  // It ends when the AMF does not take it, so one that has started is connected.
  [/^==== gNB started ===|^gNodeB started/u, () => ({ kind: 'started', isConnected: true })],
  [
    /\bScheduler cell pci=\d+ metrics: .*\bnof_ues=(\d{1,4})\b/u,
    ([, phones]) => ({ kind: 'ticked', phones: Number(phones) }),
  ],
  [
    /^Cell pci=\d+, bw=([0-9.]+) MHz, .*\bdl_freq=([0-9.]+) MHz(?:.*\bul_freq=([0-9.]+) MHz)?/u,
    ([, bandwidth, downlink = '', uplink]) => ({
      kind: 'carrier',
      stepMhz: lastDigitOf(downlink),
      bandwidthMhz: Number(bandwidth),
      downlinkMhz: Number(downlink),
      ...(uplink === undefined ? {} : { uplinkMhz: Number(uplink) }),
    }),
  ],
  // Of SCTP alone: the NG setup follows.
  [
    /^N2: Connection to AMF on \S+ completed/u,
    () => ({ kind: 'attempt', reason: 'the AMF is there, but does not answer the NG setup' }),
  ],
  [/\[NGAP *\] .*\bRx PDU: NGSetupResponse\b/u, () => ({ kind: 'connected' })],
  [
    /^N2: Failed to connect to AMF on \S{1,64} *(.{0,160})/u,
    ([, why = '']) => ({ kind: 'disconnected', reason: `no connection to the AMF. ${why}`.trim() }),
  ],
  [
    // On the console and in the log; the console's line of a time-out has no end, so the log's follows on the same one.
    /"NG Setup Procedure" (timed out after \d+ms|failed\.(?:[^"]{0,60}"[^"]{0,100}")?)/iu,
    ([, how = '']) => ({ kind: 'disconnected', reason: `NG setup ${how}`, isLast: true }),
  ],
  [
    /\bHandling N2 disconnection\b/u,
    () => ({ kind: 'disconnected', reason: 'the connection to the AMF was lost' }),
  ],
  [/\bFailed to reconnect to AMF\b/u, ([reason]) => ({ kind: 'given_up', reason })],
  [
    /^Late: (\d{1,9}); Underflow: (\d{1,9}); Overflow: (\d{1,9});/u,
    ([, late, under, over]) => ({
      kind: 'rf_error',
      count: Number(late) + Number(under) + Number(over),
    }),
  ],
  [/\bReal-time failure in RF: /u, () => ({ kind: 'rf_error', count: 1 })],
  [
    /^(?:srsRAN|OCUDU) ERROR: .*failed to connect to AMF/iu,
    ({ input }) => ({ kind: 'cause', of: 'core', text: input.slice(0, CAUSE_CHARACTERS) }),
  ],
  [DEVICE_CAUSE, ({ input }) => ({ kind: 'cause', of: 'device', text: input.slice(0, CAUSE_CHARACTERS) })],
  [CONFIG_CAUSE, ({ input }) => ({ kind: 'cause', of: 'config', text: input.slice(0, CAUSE_CHARACTERS) })],
  [/^Could not stop application after \d+ seconds/u, () => ({ kind: 'forced_exit' })],
  [/^Stopping\.\.\./u, () => ({ kind: 'stopping' })],
]

/** What a line of gnb's standard output or error means; undefined when nothing that the driver needs. */
export function gnbEvent(line: string): RadioEvent | undefined {
  const plain = plainLine(line, FIGURES_CHARACTERS)
  return cellFaultOf(GNB_CELL_FAULTS, plain) ?? firstMeaning(RULES, plain)
}
