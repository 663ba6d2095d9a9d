import type { CoreDriver, Imsi, Settings, UeAttempt, UeDiagnosis } from '@steeple/contracts'
import {
  type AttachWords,
  type CoreInfo,
  type DaemonLogs,
  daemonLogs,
  type Engine,
  runnersOf,
} from '@steeple/southbound'
import { parseImsi } from '@steeple/telecom'
import type { Daemon, Generation } from '../render/roles.ts'
import { COLOURS, refusalsIn, refusedRadioIn, textOf } from './refusals.ts'

/** The logs of the daemons: of `core_a.log_dir`, else of what runs them. */
export function coreLogs(
  engine: Engine,
  settings: () => Pick<Settings, 'core_a' | 'southbound'>,
): DaemonLogs {
  const places = () => {
    const { core_a, southbound } = settings()
    return { folder: core_a.log_dir, runners: runnersOf(southbound, core_a) }
  }
  return daemonLogs(engine, places, 'set core_a.log_dir, core_a.containers or core_a.units')
}

/** `[999700000000001] Attach complete`, `[imsi-999700000000001] Registration complete`; not `… in INVALID-STATE`. */
const COMPLETE = /^\[(?:imsi-)?(\d{5,15})\] (?:Attach|Registration) complete(?: \(|$)/
const TELLS = / INFO: /

/** How MME and AMF write of attaches. */
export function attachWords(writers: () => readonly Daemon[]): AttachWords {
  return {
    writers,
    tells: (text) => TELLS.test(text.replaceAll(COLOURS, '')),
    attachesIn: (lines) =>
      lines.flatMap((line) => {
        const digits = COMPLETE.exec(textOf(line) ?? '')?.[1]
        return digits === undefined ? [] : (parseImsi(digits) ?? [])
      }),
  }
}

/** Who writes about the attempts of phones. */
export const WRITERS: Readonly<Record<Generation, Daemon>> = { epc: 'mme', '5gc': 'amf' }

interface DiagnoseParts {
  readonly info: CoreInfo
  readonly logs: DaemonLogs
  /** See `WRITERS`. */
  writers(): readonly Daemon[]
}

/** A list of phones this old still says what state one is in, ms. */
const LIST_AGE_MS = 1_000
/** Between its set-up and the answer, which never came. */
const LEFT_ALONE = 'initial_context_setup'

/** `diagnose` of the driver: the lists of MME and AMF, and what they wrote about the phone. */
export function diagnoser(parts: DiagnoseParts): NonNullable<CoreDriver['diagnose']> {
  return async (imsi, signal) => {
    const listed = await parts.info.ues.recent(LIST_AGE_MS, signal)
    const { ues, problems: missing } = listed.value
    // Where the other list cannot be had it may be there.
    if (!ues.has(imsi)) for (const problem of missing.values()) throw problem
    const state = ues.get(imsi)?.state
    const { attempts, logProblem, refusedRadio } = await readLogs(parts, imsi, signal)
    const isLeftAlone = state === LEFT_ALONE && attempts !== undefined && attempts.length === 0
    return { state, attempts: isLeftAlone ? [UNANSWERED] : attempts, logProblem, refusedRadio }
  }
}

const UNANSWERED: UeAttempt = {
  refusal: 'unanswered',
  detail: 'the core left its attempt without an answer',
  at: undefined,
  isCertain: true,
}

async function readLogs(
  { logs, writers }: DiagnoseParts,
  imsi: Imsi,
  signal: AbortSignal,
): Promise<Omit<UeDiagnosis, 'state'>> {
  const texts: string[] = []
  const problems: string[] = []
  for (const daemon of writers()) {
    const log = await logs.tail(daemon, signal)
    if ('problem' in log) problems.push(`${daemon}: ${log.problem}`)
    else texts.push(log.text)
  }
  return {
    attempts: texts.length === 0 ? undefined : refusalsIn(texts, imsi),
    logProblem: problems.join('; ') || undefined,
    refusedRadio: texts.map(refusedRadioIn).find((words) => words !== undefined),
  }
}
