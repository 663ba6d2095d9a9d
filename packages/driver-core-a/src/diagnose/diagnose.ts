import { join } from 'node:path'
import type { CoreDriver, Imsi, Settings, UeAttempt, UeDiagnosis } from '@steeple/contracts'
import {
  type CoreInfo,
  type Engine,
  type NewLines,
  newLinesOfFile,
  newLinesOfOutput,
  openPlain,
  runnersOf,
} from '@steeple/southbound'
import type { Daemon, Generation } from '../render/roles.ts'
import { refusalsIn, refusedRadioIn } from './refusals.ts'

/** What is read of a log: the attempts of the last minutes. */
const TAIL_BYTES = 256 * 1024
const TAIL_LINES = 2_000

/** The end of a daemon's log, or why it cannot be read. */
type LogTail = { readonly text: string } | { readonly problem: string }

type LogSettings = Pick<Settings, 'core_a' | 'southbound'>

/** Reads the end of a daemon's log: `core_a.log_dir`, or the output of its container. Changes nothing. */
export async function daemonLog(
  daemon: Daemon,
  settings: LogSettings,
  engine: Engine,
  signal: AbortSignal,
): Promise<LogTail> {
  const { log_dir } = settings.core_a
  if (log_dir !== '') return await fileTail(logPath(log_dir, daemon))
  const container = runnersOf(settings.southbound, settings.core_a)[daemon]
  if (container === undefined)
    return { problem: 'its log is not known: set core_a.log_dir, core_a.containers or core_a.units' }
  try {
    return { text: await engine.logsTail(container, TAIL_LINES, signal) }
  } catch (error) {
    signal.throwIfAborted()
    return { problem: error instanceof Error ? error.message : 'its log cannot be read' }
  }
}

/** What a daemon has written since a position, as the two readers give it; undefined when its log is not known. */
export async function newLinesOf(
  daemon: Daemon,
  settings: LogSettings,
  engine: Engine,
  position: string | undefined,
  signal: AbortSignal,
): Promise<NewLines | undefined> {
  const { log_dir } = settings.core_a
  if (log_dir !== '') return await newLinesOfFile(logPath(log_dir, daemon), position)
  const container = runnersOf(settings.southbound, settings.core_a)[daemon]
  if (container === undefined) return undefined
  return await newLinesOfOutput(engine, container, position, signal)
}

/** The file of a daemon in `core_a.log_dir`. */
function logPath(folder: string, daemon: Daemon): string {
  return join(folder, `${daemon}.log`)
}

async function fileTail(path: string): Promise<LogTail> {
  try {
    await using file = await openPlain(path)
    const { size } = await file.stat()
    const from = Math.max(0, size - TAIL_BYTES)
    const { bytesRead, buffer } = await file.read({ position: from, buffer: Buffer.alloc(size - from) })
    return { text: buffer.subarray(0, bytesRead).toString('utf8') }
  } catch (error) {
    return { problem: `${path}: ${(error as NodeJS.ErrnoException).code ?? 'it cannot be read'}` }
  }
}

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
