import type { CoreDriver, Settings, UeDiagnosis } from '@steeple/contracts'
import type { Engine, SharedList } from '@steeple/southbound'
import { refusalsIn, refusedRadioIn } from './refusals.ts'

/** What a diagnosis reads. */
export interface DiagnoseParts {
  readonly list: SharedList
  readonly settings: () => Pick<Settings, 'core_b' | 'southbound'>
  readonly engine: Engine
}

/** A list of phones this old still says who is registered, ms. */
const LIST_AGE_MS = 1_000
/** What is read of the log: the attempts of the last minutes. */
const TAIL_LINES = 2_000

/** `diagnose` of the driver: the AMF's list, and what it wrote about the phone. Throws when the AMF cannot be asked. */
export function diagnoser({ list, settings, engine }: DiagnoseParts): NonNullable<CoreDriver['diagnose']> {
  return async (imsi, signal) => {
    const { registrations } = await list.recent(LIST_AGE_MS, signal)
    const one = registrations.find((registration) => registration.imsi === imsi)
    const listed = one === undefined ? undefined : `registered, ${one.isConnected ? 'connected' : 'idle'}`
    const log = await amfLog(settings(), engine, signal)
    if ('problem' in log) return { state: listed, attempts: undefined, logProblem: log.problem }
    return { ...toldIn(log.text, imsi, listed), logProblem: undefined }
  }
}

function toldIn(
  log: string,
  imsi: Parameters<typeof refusalsIn>[1],
  listed: string | undefined,
): Pick<UeDiagnosis, 'state' | 'attempts' | 'refusedRadio'> {
  const { attempts, isNamed } = refusalsIn(log, imsi)
  // The AMF lists who is registered alone.
  return {
    state: listed ?? (isNamed ? 'not registered' : undefined),
    attempts,
    refusedRadio: refusedRadioIn(log),
  }
}

/** The end of what the AMF's container has said, or why it cannot be read. */
export async function amfLog(
  { core_b, southbound }: ReturnType<DiagnoseParts['settings']>,
  engine: Engine,
  signal: AbortSignal,
): Promise<{ readonly text: string } | { readonly problem: string }> {
  const container = core_b.containers.amf
  if (southbound.driver !== 'container' || container === undefined)
    return {
      problem: "amf: its log is not known: set core_b.containers, and southbound.driver to 'container'",
    }
  try {
    return { text: await engine.logsTail(container, TAIL_LINES, signal) }
  } catch (error) {
    signal.throwIfAborted()
    return { problem: `amf: ${error instanceof Error ? error.message : 'its log cannot be read'}` }
  }
}
