import type { Readable } from 'node:stream'
import type { Clock } from '@steeple/contracts'
import { cellFaultOf, GNB_CELL_FAULTS } from '../stream/cell-faults.ts'
import {
  CAUSE_CHARACTERS,
  firstMeaning,
  lastDigitOf,
  plainLine,
  type RadioEvent,
  type Rule,
} from '../stream/radio-event.ts'
import { freshFacts, nextFacts, type RadioFacts } from '../stream/radio-facts.ts'
import { srsenbEvent } from '../stream/srsenb-line.ts'

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

const TROUBLE =
  /error|invalid|unrecogni[sz]ed|failed|fail |couldn't|could not|cannot|not found|unable|\[E\]|not (?:a )?valid|must be|only one|timed out/iu
/**
 * Lines that every start without a core prints, and figures: they explain no exit, and the state of S1 or NG is told elsewhere.
 */
const USUAL =
  /^\[METRICS|^\[S1AP|^\[\w+ *\] \[[DI]\]|^Failed to initiate S1 connection|^S1setup failed|^connect\(\): |^Could not verify|Could not check (?:scaling governor|DRM KMS)|Emergency flush of the logger|scaling governor|real-time priority/iu
/** Lines that say nothing of a reason: what every start begins with, and what every refusal ends with. */
const FORMAL = /^$|^--== |^Run with --help|ERROR: Invalid configuration detected/u
/** What a line of the log begins with: when it was written, and in which subframe. */
const STAMP = /^\d{4}-\d\d-\d\dT\S+ |\[ *\d+\] /gu
const KEPT_LINES = 6
const WORDS_CHARACTERS = 600
/** Of a program that runs only the newest complaints are shown, so long, ms. */
const RECENT_MS = 60_000
const RECENT_LINES = 3
const RECENT_CHARACTERS = 300

/** The last lines in which the program complains, for a report in its own words. Times are the monotonic clock's, ms. */
interface OwnWords {
  note(line: string, nowMs: number): void
  /** The complaints so far, oldest first, without repetition; undefined when there was none. */
  text(): string | undefined
  /** The last line that may be a reason, complaint or not; undefined when there was none. A validator may state what is wrong. */
  last(): string | undefined
  /** Those of the last minute. */
  recent(nowMs: number): string | undefined
}

/** Keeps the last complaints; bounded. `plainLine` takes identities out. */
export function ownWords(): OwnWords {
  const kept = new Map<string, number>()
  let last: string | undefined
  return {
    note: (raw, nowMs) => {
      const line = plainLine(raw, 240).replaceAll(STAMP, '')
      if (USUAL.test(line)) return
      if (!FORMAL.test(line)) last = line
      if (!TROUBLE.test(line)) return
      const isNew = !kept.has(line)
      kept.set(line, nowMs)
      const [oldest] = kept.keys()
      if (isNew && kept.size > KEPT_LINES && oldest !== undefined) kept.delete(oldest)
    },
    text: () => joined([...kept.keys()], WORDS_CHARACTERS),
    last: () => last,
    recent: (nowMs) => {
      const recent = [...kept].filter(([, atMs]) => nowMs - atMs < RECENT_MS)
      recent.sort(([, a], [, b]) => a - b)
      return joined(
        recent.slice(-RECENT_LINES).map(([line]) => line),
        RECENT_CHARACTERS,
      )
    },
  }
}

function joined(lines: readonly string[], characters: number): string | undefined {
  return lines.length === 0 ? undefined : lines.join(' | ').slice(0, characters)
}

/** A longer line is cut there; the rest of it is dropped. */
export const LINE_CHARACTERS = 4_096

/** Cuts a byte stream into lines, however it is split into chunks. */
interface LineSplitter {
  /** The lines that this chunk completes, without line ends. */
  push(chunk: Uint8Array): readonly string[]
  /** What is left without a line end, when the stream has ended. */
  end(): readonly string[]
}

/** A splitter with bounded memory: a line is at most `LINE_CHARACTERS` long. Broken UTF-8 becomes U+FFFD. */
export function lineSplitter(): LineSplitter {
  const decoder = new TextDecoder()
  let rest = ''
  const take = (text: string): readonly string[] => {
    const parts = text.split('\n')
    const last = parts.pop() ?? ''
    const lines = parts.map((part, index) => bounded(index === 0 ? rest + part : part))
    rest = bounded(parts.length === 0 ? rest + last : last)
    return lines.map(withoutReturn)
  }
  return {
    push: (chunk) => take(decoder.decode(chunk, { stream: true })),
    end: () => {
      const lines = take(decoder.decode())
      const left = rest
      rest = ''
      return left === '' ? lines : [...lines, withoutReturn(left)]
    },
  }
}

function bounded(line: string): string {
  return line.length > LINE_CHARACTERS ? line.slice(0, LINE_CHARACTERS) : line
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}

/** What is looked at when the program says something for the first time, and when it says that it is on air. */
interface Doubts {
  /** Whether it runs with privileges of its own, or out of the process group that was made for it. */
  isUnguarded(): boolean
  /** Whether what was started has started something else. */
  isWrapped(): boolean
}

/** Listens to one radio. */
interface RadioMonitor {
  facts(): RadioFacts
  /** Adds what was heard elsewhere than in its output. */
  note(event: RadioEvent): void
  /** The program's complaints, and its last line that may be a reason. */
  said(): { readonly words: string | undefined; readonly last: string | undefined }
  /** Those of the last minute. */
  complaints(): string | undefined
  /** Adds a complaint of the driver's own. */
  complain(text: string): void
  /** Hears one output until it ends. */
  hear(stream: Readable): Promise<void>
}

/** A monitor that has heard nothing; `changed` is told of each fact. */
export function radioMonitor(
  program: 'srsenb' | 'gnb',
  clock: Clock,
  doubts: Doubts,
  changed: (facts: RadioFacts) => void,
): RadioMonitor {
  const meaning = program === 'srsenb' ? srsenbEvent : gnbEvent
  const words = ownWords()
  let facts = freshFacts()
  const note = (event: RadioEvent): void => {
    facts = nextFacts(facts, event, clock.monotonicMs())
    changed(facts)
  }
  const line = (text: string): void => {
    words.note(text, clock.monotonicMs())
    const event = meaning(text)
    if (!facts.isHeard) note({ kind: 'heard', isUnguarded: doubts.isUnguarded() })
    if (event !== undefined) note(event)
    if (event?.kind === 'started' && doubts.isWrapped()) note({ kind: 'wrapped' })
  }
  return {
    facts: () => facts,
    note,
    said: () => ({ words: words.text(), last: words.last() }),
    complaints: () => words.recent(clock.monotonicMs()),
    complain: (text) => words.note(text, clock.monotonicMs()),
    hear: async (stream) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const splitter = lineSplitter()
      stream.on('data', (chunk: Buffer) => {
        for (const text of splitter.push(chunk)) line(text)
      })
      stream.on('error', () => resolve())
      stream.once('close', () => {
        for (const text of splitter.end()) line(text)
        resolve()
      })
      await promise
    },
  }
}
