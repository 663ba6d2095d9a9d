import type { RadioFacts } from '../stream/radio-facts.ts'

/** How the process of a radio ended. */
export interface RadioExit {
  readonly code: number | undefined
  readonly signal: string | undefined
  readonly facts: RadioFacts
  /** The program's complaints, bounded and without identities. */
  readonly words: string | undefined
  /** The last line that may be a reason, complaint or not, bounded and without identities. */
  readonly last?: string | undefined
  /** Whether this driver had asked it to end. */
  readonly isHalted: boolean
}

/**
 * What an end means.
 *
 * - `stopped`: asked for. `config`: it has said that it refuses its configuration; another try would end the same way.
 * - `device`: it cannot open the radio. `core`: gnb ends when it does not reach the AMF at its start.
 * - `crash`: its own fault. `killed`: by signal 9, its own after a stop that stalled included. `ended`: by itself, with 0.
 * - `failed`: it ended before it was on air, and has not said why.
 */
export type ExitClass = 'stopped' | 'config' | 'device' | 'core' | 'crash' | 'killed' | 'ended' | 'failed'

/** A shell's codes for a program that cannot be run. */
const CANNOT_RUN: ReadonlySet<number | undefined> = new Set([126, 127])
/** What the launcher answers when the service died in the moment of the start. */
const NO_PARENT = 125
/** Codes of gnb's option parser: file, conversion, validation, unknown key, configuration. */
const GNB_CONFIG: ReadonlySet<number | undefined> = new Set([103, 104, 105, 109, 110])
/** What a program tells of its end, the most telling first. */
const CAUSES = ['core', 'config', 'device'] as const

/** The class of an end by what the programs were seen to do. */
export function exitClass(program: 'srsenb' | 'gnb', exit: RadioExit): ExitClass {
  const { code, signal, facts, isHalted } = exit
  if (isHalted) return 'stopped'
  if (signal === 'SIGKILL' || facts.isForced) return 'killed'
  if (signal !== undefined) return signal === 'SIGTERM' ? 'ended' : 'crash'
  if (code === 0) return 'ended'
  if (facts.hasCrashed || facts.isStarted) return 'crash'
  if (CANNOT_RUN.has(code)) return 'config'
  if (code === NO_PARENT) return 'killed'
  if (program === 'gnb' && GNB_CONFIG.has(code)) return 'config'
  return CAUSES.find((cause) => facts.causes[cause] !== undefined) ?? 'failed'
}

/** Whether another try may end better. */
export function isRetried(kind: ExitClass): boolean {
  return kind !== 'config'
}

/** One sentence on an end, with the program's own words. */
export function exitText(program: 'srsenb' | 'gnb', kind: ExitClass, exit: RadioExit): string {
  const how = exit.signal === undefined ? `exit code ${exit.code ?? 'unknown'}` : `signal ${exit.signal}`
  const { causes } = exit.facts
  const cause = kind === 'config' || kind === 'device' || kind === 'core' ? causes[kind] : undefined
  const complaints = exit.words ?? ''
  // The validators of gnb state what is wrong in words that are no complaint.
  const stated = program === 'gnb' && kind === 'config' ? (exit.last ?? '') : ''
  const words = [cause ?? '', complaints, complaints.includes(stated) ? '' : stated].filter(
    (text) => text !== '',
  )
  return [`${program} ${MEANING[kind]} (${how})`, ...new Set(words)].join(': ').slice(0, TEXT_CHARACTERS)
}

/** The whole sentence, characters. */
const TEXT_CHARACTERS = 800

const MEANING: Readonly<Record<ExitClass, string>> = {
  stopped: 'was stopped',
  config: 'refuses its configuration',
  device: 'cannot open the radio',
  core: 'did not reach the AMF',
  crash: 'crashed',
  killed: 'was killed',
  ended: 'ended by itself',
  failed: 'ended at its start',
}
