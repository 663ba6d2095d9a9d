import {
  type CoreDriver,
  type CoreObserved,
  coreDriverRef,
  type Imsi,
  timestampOrNull,
  type UeAttempt,
  type UeDiagnosis,
  type UeRefusal,
} from '@steeple/contracts'
import { safeText } from '@steeple/telecom'
import type { Sight } from '../attach/sight.ts'
import type { SimsParts } from '../parts.ts'
import { wantedInHss } from '../states/machine.ts'
import type { SimRow } from '../store/sim-row.ts'
import { apnsOf } from '../store/sim-row.ts'
import { type Check, doubtful, failed, fine, unknown } from './check.ts'

/** What was asked of the core for one phone. */
export interface CoreAnswers {
  readonly seen: CoreObserved | undefined
  readonly phone: UeDiagnosis | undefined
  /** Why something is missing. */
  readonly problem: string | undefined
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

/** Whether the core runs. */
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
  if (services.length === 0)
    return unknown('core', problem ?? 'the core does not say what runs', 'svc health says more')
  return fine('core', `up: ${services.map(([name]) => name).join(', ')}`)
}

/** Whether a base station is there. */
export function radioCheck(answers: CoreAnswers | undefined): Check {
  const radios = answers?.seen?.radios
  if (radios === undefined) return unknown('radio', 'the core does not say which base stations it has')
  const refused = answers?.phone?.refusedRadio
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
export function attachedCheck({ attached, lastSeenAtMs }: Sight): Check {
  const last = lastSeenAtMs === null ? 'it was never seen' : `last seen ${timestampOrNull(lastSeenAtMs)}`
  if (attached === true) return fine('attached', 'its phone is on the network now')
  if (attached === null) return unknown('attached', `the core does not say; ${last}`)
  return doubtful('attached', `its phone is not on the network; ${last}`, null)
}

/** What became of its attempts, as far as the core tells. */
export function attemptsCheck(
  parts: SimsParts,
  row: SimRow,
  sight: Sight,
  answers: CoreAnswers | undefined,
): Check {
  const name = 'attempts'
  const phone = answers?.phone
  if (phone === undefined) return unknown(name, answers?.problem ?? 'this core does not say who tried')
  const [attempt] = phone.attempts ?? []
  if (sight.attached === true) return fine(name, 'the last one succeeded')
  if (attempt !== undefined) {
    // One that is to be off is refused as it should be: its state says what to do.
    if (wantedInHss(row.state) !== 'open') return doubtful(name, wordsOf(attempt), null)
    return failed(name, wordsOf(attempt), ADVICE[attempt.refusal](parts, row))
  }
  if (phone.attempts === undefined) {
    const state =
      phone.state === undefined ? 'the core has not heard of it' : `the core has it as ${phone.state}`
    return unknown(name, `${state}; refusals are not known: ${phone.logProblem ?? 'no log'}`)
  }
  if (phone.state === undefined) return doubtful(name, 'the core has not heard of this phone', QUIET(parts))
  return doubtful(name, `the core has it as ${phone.state}; it was not refused since`, QUIET(parts))
}

function wordsOf({ detail, at, isCertain }: UeAttempt): string {
  const when = at === undefined ? '' : `, ${at} by the core's clock`
  return `refused: ${detail}${when}${isCertain ? '' : ' (the core does not name the phone: it may have been another)'}`
}

const QUIET = ({ context }: SimsParts): string => {
  const { mcc, mnc } = context.settings.plmn
  return (
    'look at the phone: is it on, out of flight mode, its SIM in, in reach of the cell, data roaming allowed, ' +
    `its network set to automatic or ${mcc} ${mnc}, its radio able to use the band?`
  )
}

/** What to do about each refusal. */
const ADVICE: Readonly<Record<UeRefusal, (parts: SimsParts, row: SimRow) => string>> = {
  unknown_subscriber: () =>
    'the core looks for it elsewhere than it was written, or its database was away: compare hss.* with the core; then ' +
    'switch the phone off and on, since it takes its SIM for invalid until then',
  wrong_keys: (_parts, { batch_id }) =>
    `write the card anew from its own data (on the node: svc sim export ${batch_id ?? 'BATCH'}), or import the keys that it ` +
    'really has; then switch the phone off and on',
  out_of_step: () =>
    'switch the phone off and on, which brings them into step; if it comes again, another HSS uses the same card',
  wrong_apn: (_parts, row) =>
    `set the APN in the phone to one of ${apnsOf(row).join(', ')}, or leave it empty; or give the SIM that APN`,
  wrong_area: ({ context }) =>
    `set the cell and the core to the same network and tracking area (plmn, tac: here ${context.settings.tac}); svc core plan shows ` +
    'what would change',
  wrong_network: ({ context }) =>
    `this node is ${context.settings.plmn.mcc}-${context.settings.plmn.mnc}: set the core and the cell to it, and the phone's network ` +
    'to automatic',
  not_allowed: () =>
    "look into the subscriber's restrictions in the core's database: nothing of this service sets any",
  unanswered: (_parts, { hash }) =>
    `its subscriber has no service in the HSS: svc sim show ${hash} says whether it is provisioned; then switch the phone off and on`,
  other: () =>
    "look the cause up in TS 24.301 §9.9.3.9 (LTE) or TS 24.501 §9.11.3.2 (NR), and in the core's log",
}
