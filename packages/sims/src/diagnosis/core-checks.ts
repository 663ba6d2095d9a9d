import {
  type CoreDriver,
  type CoreObserved,
  coreDriverRef,
  type Imsi,
  type Settings,
  timestampOrNull,
  type UeAttempt,
  type UeDiagnosis,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { AttachState } from '../attach/attach-state.ts'
import type { SimsParts } from '../parts.ts'
import type { SimRow } from '../store/sim-row.ts'
import { type Check, doubtful, failed, fine, unknown } from './check.ts'

/** What was asked of the core for one phone. */
export interface CoreAnswers {
  readonly seen: CoreObserved | undefined
  readonly phone: UeDiagnosis | undefined
  /** Why something is missing. */
  readonly problem: string | undefined
}

/** All that a diagnosis is made of. */
export interface Facts {
  readonly row: Pick<
    SimRow,
    'hash' | 'state' | 'suspend_reason' | 'expires_at_ms' | 'batch_id' | 'apns' | 'plmn'
  >
  readonly settings: Pick<Settings, 'plmn' | 'tac'>
  /** The access points of the network. */
  readonly apns: readonly string[]
  /** Why the node's clock is not believed; undefined while it is. */
  readonly doubt: string | undefined
  readonly provisioning: Check
  readonly subscriber: Check
  readonly answers: CoreAnswers | undefined
  readonly attachState: AttachState
}

/** Both cores call a phone so that is on; the list of all phones may be some seconds older than the look at this one. */
export function isHeldAsOn({ answers, attachState }: Facts): boolean {
  return attachState.attached === false && /^registered\b/i.test(answers?.phone?.state ?? '')
}

/**
 * The attempt that the core's list does not know of: a core leaves a phone as it had it while who comes under its identity does
 * not authenticate, so what it wrote of that is newer than what it lists.
 */
export function refusedSince({ answers }: Pick<Facts, 'answers'>): UeAttempt | undefined {
  const [attempt] = answers?.phone?.attempts ?? []
  return attempt?.refusal === 'wrong_keys' && attempt.isCertain ? attempt : undefined
}

/** Asks the core all at once. Never throws but for its signal. */
export async function askCore(
  { context }: SimsParts,
  imsi: Imsi,
  signal: AbortSignal,
): Promise<CoreAnswers | undefined> {
  const core: CoreDriver | undefined = context.maybe(coreDriverRef)
  if (core === undefined) return undefined
  const problems: string[] = []
  const tried = async <T>(work: Promise<T> | undefined): Promise<T | undefined> => {
    try {
      return await work
    } catch (error) {
      problems.push(signal.aborted ? 'it does not answer' : safeText(error))
      return undefined
    }
  }
  const [seen, phone] = await Promise.all([tried(core.observe(signal)), tried(core.diagnose?.(imsi, signal))])
  return { seen, phone, problem: problems[0] }
}

/** Whether the core runs, and does its work. */
export function coreCheck(answers: CoreAnswers | undefined): Check {
  if (answers === undefined) return unknown('core', 'no core driver is loaded', 'set core')
  const { seen, problem } = answers
  const services = [...(seen?.services ?? [])].filter(([, state]) => state !== 'unknown')
  const down = services.filter(([, state]) => state === 'down').map(([name]) => name)
  if (down.length > 0)
    return failed(
      'core',
      `down: ${down.join(', ')}`,
      'start what is down, or correct where it is: svc doctor',
    )
  const idle = [...(seen?.problems ?? [])].map(([name, words]) => `${name}: ${words}`)
  if (idle.length > 0)
    return failed(
      'core',
      `not at work: ${idle.join('; ')}`,
      'mend what is named, or restart that function: svc health, and its log',
    )
  if (services.length === 0)
    return unknown('core', problem ?? 'the core does not say what runs', 'svc health says more')
  return fine('core', `up: ${services.map(([name]) => name).join(', ')}`)
}

/** Whether a base station is there. */
export function radioCheck({ answers, attachState }: Facts): Check {
  if (answers === undefined) return unknown('radio', 'no core driver is loaded')
  const radios = answers.seen?.radios
  if (radios === undefined) return unknown('radio', 'the core does not say which base stations it has')
  const refused = answers.phone?.refusedRadio
  if (radios === 0 && attachState.attached === true)
    return unknown(
      'radio',
      'the core lists no base station, and a phone that is on: one of its lists is late',
    )
  if (radios === 0 && refused !== undefined)
    return failed(
      'radio',
      `no base station is connected to the core, which refused the last one that came: ${refused}`,
      'set the cell and the core to the same network, tracking area and slices (plmn, tac); svc core plan shows what would change',
    )
  if (radios === 0)
    return failed(
      'radio',
      'no base station is connected to the core',
      'svc tx status says whether the radio may send, svc health why it does not',
    )
  return fine('radio', radios === 1 ? 'a base station is connected' : `${radios} base stations are connected`)
}

/** Whether it is on the network. */
export function attachedCheck(facts: Facts): Check {
  const { attached, lastSeenAtMs } = facts.attachState
  const last = lastSeenAtMs === null ? 'it was never seen' : `last seen ${timestampOrNull(lastSeenAtMs)}`
  if (refusedSince(facts) !== undefined && (attached === true || isHeldAsOn(facts)))
    return unknown(
      'attached',
      'the core still has it as registered, from before its last attempt, which was refused',
    )
  if (attached === true) return fine('attached', 'its phone is on the network now')
  if (attached === null) return unknown('attached', `the core does not say; ${last}`)
  if (isHeldAsOn(facts))
    return unknown(
      'attached',
      `the core has it as ${facts.answers?.phone?.state}, which its list had not; ask again`,
    )
  return doubtful('attached', `its phone is not on the network; ${last}`, null)
}
