import type { RadioEvent } from './radio-event.ts'

/** What the output of one process has said so far. Times are the monotonic clock's, ms. */
export interface RadioFacts {
  readonly isHeard: boolean
  /** It would outlive the service: see the events `heard` and `wrapped`. */
  readonly isUnguarded: boolean
  readonly isStarted: boolean
  readonly startedAtMs: number | undefined
  readonly carrier: Extract<RadioEvent, { kind: 'carrier' }> | undefined
  readonly device: string | undefined
  readonly isGainIgnored: boolean
  readonly isConnected: boolean
  /** When that became so. */
  readonly connectedAtMs: number | undefined
  /** When it last said that slots pass; undefined as long as it has not. */
  readonly tickedAtMs: number | undefined
  /** Why S1 or NG is down, in the program's words. */
  readonly lossReason: string | undefined
  /** Why the attempt to reach the core that is under way has failed if nothing more is heard. */
  readonly attempt: string | undefined
  readonly hasGivenUp: boolean
  /** Why the cell serves no phone. */
  readonly cellFault: string | undefined
  /** Times in a row that it has said what would be such a reason, and since when. */
  readonly cellDoubts: { readonly count: number; readonly sinceMs: number }
  /** The first cause of its end that it has told, by what it concerns. */
  readonly causes: Readonly<Partial<Record<'config' | 'device' | 'core', string>>>
  readonly rntis: ReadonlySet<string>
  /** Phones as the program counts them; undefined when it does not. */
  readonly ueCount: number | undefined
  readonly randomAccesses: number
  readonly rfErrors: number
  readonly hasCrashed: boolean
  readonly isForced: boolean
}

/** srsenb serves at most so many phones; more names than that are junk. */
const RNTIS_MAX = 4_096

/** Facts of a process of which nothing was heard. */
export function freshFacts(): RadioFacts {
  return {
    isHeard: false,
    isUnguarded: false,
    isStarted: false,
    startedAtMs: undefined,
    carrier: undefined,
    device: undefined,
    isGainIgnored: false,
    isConnected: false,
    connectedAtMs: undefined,
    tickedAtMs: undefined,
    lossReason: undefined,
    attempt: undefined,
    hasGivenUp: false,
    cellFault: undefined,
    cellDoubts: { count: 0, sinceMs: 0 },
    causes: {},
    rntis: new Set(),
    ueCount: undefined,
    randomAccesses: 0,
    rfErrors: 0,
    hasCrashed: false,
    isForced: false,
  }
}

/** The facts after one more event. Phones are gone when S1 or NG is. */
export function nextFacts(facts: RadioFacts, event: RadioEvent, nowMs: number): RadioFacts {
  switch (event.kind) {
    case 'heard':
      return { ...facts, isHeard: true, isUnguarded: facts.isUnguarded || event.isUnguarded }
    case 'wrapped':
      return { ...facts, isUnguarded: true }
    case 'started':
      return {
        ...(event.isConnected === true ? connected(facts, nowMs) : facts),
        isStarted: true,
        startedAtMs: facts.startedAtMs ?? nowMs,
      }
    case 'ticked':
      return { ...facts, tickedAtMs: nowMs, ueCount: facts.isConnected ? event.phones : undefined }
    case 'carrier':
      return { ...facts, carrier: event }
    case 'device':
      return { ...facts, device: event.name }
    case 'gain_ignored':
      return { ...facts, isGainIgnored: true }
    case 'connected':
      return connected(facts, nowMs)
    case 'disconnected':
      return {
        ...facts,
        isConnected: false,
        hasGivenUp: facts.hasGivenUp || (event.isLast === true && facts.isStarted),
        lossReason:
          event.isVague === true ? (facts.attempt ?? facts.lossReason ?? event.reason) : event.reason,
        rntis: new Set(),
        ueCount: undefined,
      }
    case 'attempt':
      return { ...facts, attempt: event.reason }
    case 'cell_fault':
      return { ...facts, cellFault: facts.cellFault ?? event.text }
    case 'cell_doubt':
      return doubted(facts, event.text, nowMs)
    case 'cause':
      return { ...facts, causes: { [event.of]: event.text, ...facts.causes } }
    case 'given_up':
      return { ...facts, isConnected: false, lossReason: event.reason, hasGivenUp: true, ueCount: undefined }
    case 'ue_count':
      return { ...facts, ueCount: event.count }
    case 'ue_connected':
    case 'ue_gone':
      return { ...facts, rntis: changed(facts.rntis, event) }
    case 'random_access':
      return { ...facts, randomAccesses: facts.randomAccesses + 1 }
    case 'rf_error':
      return { ...facts, rfErrors: facts.rfErrors + event.count }
    case 'crashed':
      return { ...facts, hasCrashed: true }
    case 'forced_exit':
      return { ...facts, isForced: true }
    case 'stopping':
      return facts
  }
}

function connected(facts: RadioFacts, nowMs: number): RadioFacts {
  return {
    ...facts,
    isConnected: true,
    connectedAtMs: facts.isConnected ? facts.connectedAtMs : nowMs,
    lossReason: undefined,
    attempt: undefined,
  }
}

/** So many lines within so long, and no phone: the cell serves none. */
const DOUBTS = { most: 20, withinMs: 10_000 }

function doubted(facts: RadioFacts, text: string, nowMs: number): RadioFacts {
  const { count, sinceMs } = facts.cellDoubts
  const isRow = count > 0 && nowMs - sinceMs <= DOUBTS.withinMs && ueCountOf(facts) === 0
  const cellDoubts = isRow ? { count: count + 1, sinceMs } : { count: 1, sinceMs: nowMs }
  const isFault = cellDoubts.count >= DOUBTS.most
  return { ...facts, cellDoubts, cellFault: facts.cellFault ?? (isFault ? text : undefined) }
}

/** Whether samples may flow: it has said so, or said at which frequency. */
export function mayBeOnAir(facts: RadioFacts): boolean {
  return facts.isStarted || facts.carrier !== undefined
}

/** Phones that are on the cell. */
export function ueCountOf(facts: RadioFacts): number {
  return facts.ueCount ?? facts.rntis.size
}

function changed(
  rntis: ReadonlySet<string>,
  event: Extract<RadioEvent, { kind: 'ue_connected' | 'ue_gone' }>,
): ReadonlySet<string> {
  const next = new Set(rntis)
  const rnti = event.rnti.toLowerCase()
  if (event.kind === 'ue_gone') next.delete(rnti)
  else if (next.size < RNTIS_MAX) next.add(rnti)
  return next
}
