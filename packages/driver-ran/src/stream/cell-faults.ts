import type { RadioEvent } from './radio-event.ts'

/** A line of a program that goes on although no phone can find its cell, or get onto it. */
interface CellFaultLine {
  readonly pattern: RegExp
  /** Where the program prints it: srsRAN_4G at 1fab3df8, srsRAN_Project at 4bf15439. */
  readonly source: string
  /** Once is a moment without room: it means that when it comes again and again, without a phone on the cell. */
  readonly isRepeated?: true
}

const line = (source: string, pattern: RegExp): CellFaultLine => ({ source, pattern })
const repeated = (source: string, pattern: RegExp): CellFaultLine => ({ source, pattern, isRepeated: true })

/** Lines of srsenb. What it says before it ends by itself is not among them. */
export const SRSENB_CELL_FAULTS: readonly CellFaultLine[] = [
  // System information that cannot be encoded: a band above 64, a value out of its range.
  line('srsenb/src/stack/rrc/rrc.cc:101', /Couldn't generate SIBs\./u),
  line('srsenb/src/stack/rrc/rrc.cc:927', /Failed to pack SIB message \d+/u),
  line('srsenb/src/stack/rrc/rrc.cc:920', /Couldn't allocate PDU in generate_sibs\(\)/u),
  // A cell that the scheduler has refused: it is on air and nothing is scheduled on it.
  line('srsenb/src/stack/mac/sched_helpers.cc:238', /SCHED: Invalid si-window length/u),
  line('srsenb/src/stack/mac/sched_helpers.cc:246', /Invalid PUCCH configuration: /u),
  line('srsenb/src/stack/mac/sched_helpers.cc:258', /Invalid PRACH configuration: frequency offset/u),
  line('srsenb/src/stack/mac/sched_helpers.cc:269', /Getting DCI locations/u),
  line('srsenb/src/stack/mac/sched_helpers.cc:278', /SCHED: Current cfi=/u),
  line('srsenb/src/stack/mac/sched_helpers.cc:297', /SCHED: Failed to calculate the number of CCEs/u),
  // System information that is larger than all of the carrier.
  line(
    'srsenb/src/stack/mac/sched_carrier.cc:137',
    /SCHED: Could not allocate SI message, .*Cause: Effective coderate exceeds threshold/u,
  ),
  repeated('srsenb/src/stack/mac/sched_carrier.cc:137', /SCHED: Could not allocate SI message, idx=0,/u),
  // A physical layer that was not set up.
  line('srsenb/src/phy/lte/cc_worker.cc:114', /Error initiating ENB [DU]L/u),
  line('srsenb/src/phy/lte/cc_worker.cc:122', /Error setting the CFR/u),
  line('srsenb/src/phy/prach_worker.cc:46', /Error initiating PRACH/u),
  repeated('srsenb/src/phy/lte/sf_worker.cc:199', /Getting DL scheduling from MAC/u),
]

export const GNB_CELL_FAULTS: readonly CellFaultLine[] = [
  // The cell was never activated.
  line(
    'lib/du/du_high/du_manager/procedures/du_setup_procedure.cpp:198',
    /F1 Setup attempt \d+\/\d+ failed\..*No more retries left/u,
  ),
  line(
    'lib/f1ap/du/procedures/f1ap_du_setup_procedure.cpp:155',
    /Reached maximum number of F1 Setup connection retries/u,
  ),
  line('lib/mac/mac_dl/sib_pdu_assembler.cpp:155', /Failed to encode SIB1 PDSCH/u),
  line(
    'lib/scheduler/common_scheduling/sib1_scheduler.cpp:110',
    /Could not allocate SIB1 for beam idx \d+ as slot is not DL enabled/u,
  ),
  repeated(
    'lib/scheduler/common_scheduling/sib1_scheduler.cpp:145',
    /No valid PDSCH time domain resource exists to schedule SIB1/u,
  ),
  repeated(
    'lib/scheduler/common_scheduling/sib1_scheduler.cpp:189',
    /Not enough PDSCH space for SIB1 in beam idx/u,
  ),
  repeated(
    'lib/scheduler/common_scheduling/sib1_scheduler.cpp:201',
    /Could not allocated SIB1's DCI in PDCCH/u,
  ),
  repeated('lib/scheduler/common_scheduling/ssb_scheduler.cpp:63', /Failed to allocate SSB/u),
  repeated('lib/phy/upper/downlink_processor_multi_executor_impl.cpp:172', /Failed to process SSB/u),
]

/** What a line of the log begins with. */
const WRITTEN_AT = /^\d{4}-\d\d-\d\dT\S+ /u

/** What a line says of the cell by that table; undefined when nothing. */
export function cellFaultOf(lines: readonly CellFaultLine[], text: string): RadioEvent | undefined {
  const found = lines.find(({ pattern }) => pattern.test(text))
  if (found === undefined) return undefined
  return { kind: found.isRepeated === true ? 'cell_doubt' : 'cell_fault', text: text.replace(WRITTEN_AT, '') }
}
