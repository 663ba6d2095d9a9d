import type { CoreDriver, Imsi, Settings, UeAttempt, UeDiagnosis } from '@steeple/contracts'
import type { CoreInfo, Engine } from '@steeple/southbound'
import type { Daemon, Generation } from '../render/roles.ts'
import { daemonLog } from './daemon-log.ts'
import { refusalsIn, refusedRadioIn } from './refusals.ts'

/** What a diagnosis reads. */
export interface DiagnoseParts {
  readonly info: CoreInfo
  readonly settings: () => Pick<Settings, 'core_a' | 'southbound'>
  readonly generations: () => readonly Generation[]
  readonly engine: Engine
}

/** Who writes about the attempts of phones. */
export const WRITERS: Readonly<Record<Generation, Daemon>> = { epc: 'mme', '5gc': 'amf' }
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
  { settings, generations, engine }: DiagnoseParts,
  imsi: Imsi,
  signal: AbortSignal,
): Promise<Omit<UeDiagnosis, 'state'>> {
  const logs: string[] = []
  const problems: string[] = []
  for (const generation of generations()) {
    const daemon = WRITERS[generation]
    const log = await daemonLog(daemon, settings(), engine, signal)
    if ('problem' in log) problems.push(`${daemon}: ${log.problem}`)
    else logs.push(log.text)
  }
  return {
    attempts: logs.length === 0 ? undefined : refusalsIn(logs, imsi),
    logProblem: problems.join('; ') || undefined,
    refusedRadio: logs.map(refusedRadioIn).find((words) => words !== undefined),
  }
}
