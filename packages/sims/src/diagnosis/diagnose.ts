import {
  type ComponentState,
  type CoreDriver,
  type CoreObserved,
  coreDriverRef,
  healthBoardRef,
  type Imsi,
  type Settings,
  timestampOrNull,
  type UeAttempt,
  type UeDiagnosis,
  type UeRefusal,
} from '@steeple/contracts'
import { formatPlmn, safeText } from '@steeple/telecom'
import { type AttachState, attachStateOf } from '../attach/attach-state.ts'
import { policyApns } from '../issue/issue.ts'
import type { SimsParts } from '../parts.ts'
import { differences } from '../provision/drift.ts'
import { provisioningOf } from '../record.ts'
import { openImsi } from '../secrets/card.ts'
import { wantedInHss } from '../states/change.ts'
import { apnsOf, SIMS, type SimRow } from '../store/sim-store.ts'

/** Whether the SIM itself may be on the network. */
function stateCheck(row: Facts['row'], { attached, lastSeenAtMs }: AttachState): Found {
  const { hash, state, suspend_reason: reason } = row
  if (state === 'issued') {
    const isSeen = attached === true || lastSeenAtMs !== null
    return fine(isSeen ? 'issued, and used for the first time' : 'issued: its phone was never on the network')
  }
  if (state === 'in-use') return fine('in use')
  if (state === 'suspended') {
    const advice =
      reason === 'quota'
        ? `raise its quota or wait for the next period; svc sim resume ${hash} --override lifts it now`
        : `svc sim resume ${hash} lifts it`
    return failed(`suspended by ${reason ?? 'somebody'}`, advice)
  }
  if (state === 'expired')
    return failed(
      `expired at ${timestampOrNull(row.expires_at_ms)}`,
      `an expired SIM stays off; issue another in its place: svc sim issue --replaces ${hash}`,
    )
  return failed('revoked, which is for good', 'issue another SIM')
}

/** Whether the HSS was told of it. */
function provisioningCheck(parts: SimsParts, row: SimRow): Found {
  const { status, driver, last_error: reason } = provisioningOf(parts, row)
  const why = typeof reason === 'string' ? `: ${reason}` : ''
  if (status === 'synced') return fine(`it is written to the subscriber database (${driver})`)
  if (status === 'failed')
    return failed(
      `the subscriber database (${driver}) refused it${why}`,
      'correct what the reason names; it is tried again within a minute',
    )
  const detail = `it is not written to the subscriber database (${driver}) yet${why}`
  const isAway = parts.hss.view().problem !== undefined
  // Its state keeps it off already, and blocking it first and removing it then takes a moment.
  if (wantedInHss(row.state) !== 'open')
    return doubtful(detail, isAway ? 'mend the way to the HSS: svc health, svc doctor' : null)
  const advice =
    typeof reason === 'string'
      ? 'mend the way to the HSS: svc health, svc doctor'
      : 'wait a few seconds and ask again'
  return failed(detail, advice)
}

/** What the HSS should hold of it. */
const HELD = {
  open: 'the core has its data as it should',
  blocked: 'the core has it blocked, as it should',
  absent: 'the core does not have it, as it should be',
} as const

/** Whether the HSS holds it as it should, looked at now. */
async function subscriberCheck(parts: SimsParts, row: SimRow, signal: AbortSignal): Promise<Found> {
  const driver = parts.hss.driver()
  if (driver === undefined || driver.name === 'none')
    return unknown(
      'there is no HSS that the service fills',
      'look into the one of the core by hand, or have it filled: hss.driver',
    )
  if (parts.hss.view().problem !== undefined)
    return unknown(
      `the HSS was not asked: ${parts.hss.view().problem}`,
      'mend the way to the HSS: svc health',
    )
  const found = await differences(parts, driver, [row], signal).catch(() => undefined)
  if (found === undefined)
    return unknown(
      `the HSS does not answer: ${parts.hss.view().problem ?? 'no reason'}`,
      'svc health says more',
    )
  const [difference] = found
  if (difference === undefined) return fine(HELD[wantedInHss(row.state)])
  if (row.hss_status !== 'synced') return doubtful('the HSS does not hold it as it should yet', null)
  return failed(
    difference.reason,
    'somebody changed it in the database; it is put right within sims.drift_interval, or at once by suspend and resume',
  )
}

/** What became of its attempts, as far as the core tells. */
function attemptsCheck(facts: Facts, isHindered: boolean): Found {
  const { row, attachState, answers } = facts
  const phone = answers?.phone
  const isOn = attachState.attached === true || isHeldAsOn(facts)
  const [attempt] = phone?.attempts ?? []
  if (attempt !== undefined) {
    // One that is to be off is refused as it should be: its state says what to do.
    const advice = wantedInHss(row.state) === 'open' ? ADVICE[attempt.refusal](facts) : null
    // Who is on may have been refused another connection since.
    const isOnSince = isOn && refusedSince(facts) === undefined
    return advice === null || isOnSince
      ? doubtful(wordsOf(attempt), advice)
      : failed(wordsOf(attempt), advice)
  }
  if (isOn)
    return fine(
      attachState.attached === true ? 'the last one succeeded' : `the core has it as ${phone?.state}`,
    )
  if (answers === undefined) return unknown('no core driver is loaded')
  if (phone === undefined) return unknown(answers.problem ?? 'this core does not say who tried')
  return quietCheck(facts, phone, isHindered)
}

/** Of one that was not refused, as far as that is known. */
function quietCheck(facts: Facts, phone: UeDiagnosis, isHindered: boolean): Found {
  if (phone.attempts === undefined) {
    const state =
      phone.state === undefined ? 'the core has not heard of it' : `the core has it as ${phone.state}`
    return unknown(`${state}; refusals are not known: ${phone.logProblem ?? 'no log'}`)
  }
  // Whoever looks at the phone looks in vain while something else keeps it off.
  const advice =
    wantedInHss(facts.row.state) !== 'open' || isHindered || isKeptOff(facts) ? null : QUIET(facts)
  if (phone.state === undefined) return doubtful('the core has not heard of this phone', advice)
  return doubtful(`the core has it as ${phone.state}; it was not refused since`, advice)
}

function wordsOf({ detail, at, isCertain }: UeAttempt): string {
  const when = at === undefined ? '' : `, ${at} by the core's clock`
  return `refused: ${detail}${when}${isCertain ? '' : ' (the core does not name the phone: it may have been another)'}`
}

function isKeptOff({ provisioning, subscriber }: Facts): boolean {
  return provisioning.status === 'failed' || subscriber.status === 'failed'
}

const QUIET = ({ settings }: Facts): string => {
  const { mcc, mnc } = settings.plmn
  return (
    'look at the phone: is it on, out of flight mode, its SIM in, in reach of the cell, data roaming allowed, ' +
    `its network set to automatic or ${mcc} ${mnc}, its radio able to use the band?`
  )
}

/** What to do about each refusal. */
const ADVICE: Readonly<Record<UeRefusal, (facts: Facts) => string>> = {
  unknown_subscriber: (facts) =>
    isKeptOff(facts)
      ? 'when the HSS holds it, switch the phone off and on, since it takes its SIM for invalid until then'
      : 'the core looks for it elsewhere than it was written, or its database was away: compare hss.* with the core; then ' +
        'switch the phone off and on, since it takes its SIM for invalid until then',
  wrong_keys: ({ row: { batch_id } }) =>
    `write the card anew from its own data (on the node: svc sim export ${batch_id ?? 'BATCH'}), or import the keys that it ` +
    'really has; then switch the phone off and on',
  out_of_step: () =>
    'switch the phone off and on, which brings them into step; if it comes again, another HSS uses the same card',
  wrong_apn: ({ row }) =>
    `set the APN in the phone to one of ${apnsOf(row).join(', ')}, or leave it empty; or give the SIM that APN`,
  wrong_area: ({ settings }) =>
    `set the cell and the core to the same network and tracking area (plmn, tac: here ${settings.tac}); svc core plan shows ` +
    'what would change',
  wrong_network: ({ settings: { plmn } }) =>
    `this node is ${plmn.mcc}-${plmn.mnc}: set the core and the cell to it, and the phone's network ` +
    'to automatic',
  not_allowed: () =>
    "look into the subscriber's restrictions in the core's database: nothing of this service sets any",
  unanswered: ({ row: { hash }, subscriber }) =>
    subscriber.status === 'ok'
      ? 'the HSS holds it with its service now: the phone comes back by itself within some minutes, at once when it is switched off and on'
      : `its subscriber has no service in the HSS: svc sim show ${hash} says whether it is provisioned; then switch the phone off and on`,
  other: () =>
    "look the cause up in TS 24.301 §9.9.3.9 (LTE) or TS 24.501 §9.11.3.2 (NR), and in the core's log",
}

/** A person waits: what does not answer in that time is unknown, ms. */
const LIMIT_MS = 5_000

/** Looks at everything between a SIM and the network. Changes nothing. Throws `store_corrupt`. */
export async function diagnose(parts: SimsParts, row: SimRow, asked: AbortSignal): Promise<Diagnosis> {
  const signal = AbortSignal.any([asked, AbortSignal.timeout(LIMIT_MS)])
  const first = await look(parts, row, signal)
  const now = await SIMS.find(parts.context.db, { hash: row.hash })
  // Somebody has changed it meanwhile: what was found is of two SIMs then, the one of before and the one of now.
  return now === undefined || isAsBefore(row, now) ? first : await look(parts, now, signal)
}

function isAsBefore(before: SimRow, now: SimRow): boolean {
  const { generation, state, hss_status } = now
  return before.generation === generation && before.state === state && before.hss_status === hss_status
}

async function look(parts: SimsParts, row: SimRow, signal: AbortSignal): Promise<Diagnosis> {
  const imsi = openImsi(parts.vault, row)
  const [subscriber, answers, attachState] = await Promise.all([
    subscriberCheck(parts, row, signal),
    askCore(parts, imsi, signal),
    parts.attachedSet.fresh().then((attached) => attachStateOf(parts.context.db, row, attached)),
  ])
  const { settings, clock } = parts.context
  const provisioning = provisioningCheck(parts, row)
  const internet = parts.context
    .use(healthBoardRef)
    .components()
    .find((one) => one.incident === 'no_internet')
  const network = { settings, apns: policyApns(parts), doubt: clock.doubt?.() }
  return judge({ row, ...network, provisioning, subscriber, answers, attachState, internet })
}

/** Why a phone is not on, as far as the service and the core know. */
export interface Diagnosis {
  readonly verdict: string
  readonly checks: readonly Check[]
}

/**
 * What follows from all that was found out. No two parts of it exclude each other, whatever the lists of the core say that were read
 * one after the other: who is on the network is kept off by nothing, and a phone is to be looked at when nothing else is in the way.
 */
export function judge(facts: Facts): Diagnosis {
  const { row, attachState, answers } = facts
  const core = coreCheck(answers)
  const radio = radioCheck(facts)
  const isHindered = core.status === 'failed' || radio.status === 'failed'
  const found = {
    state: stateCheck(row, attachState),
    provisioning: facts.provisioning,
    subscriber: facts.subscriber,
    network: networkCheck(facts),
    core,
    radio,
    attached: attachedCheck(facts),
    attempts: attemptsCheck(facts, isHindered),
    ...internetCheck(facts),
    clock: clockCheck(facts),
  }
  const checks = Object.entries(found).map(([name, of]): Check => ({ name, ...of }))
  const isOn = (attachState.attached === true || isHeldAsOn(facts)) && refusedSince(facts) === undefined
  return { verdict: verdictOf(checks, isOn), checks }
}

function verdictOf(checks: readonly Check[], isOn: boolean): string {
  const wrong = checks.find(({ status }) => status === 'failed')
  const cause = wrong && `${wrong.name}: ${wrong.detail}`
  if (isOn) return ['its phone is on the network', cause].filter(Boolean).join(' all the same; ')
  if (cause !== undefined) return cause
  const odd = checks.find(({ status, advice }) => status === 'warning' && advice !== null)
  const hidden = checks.filter(({ status }) => status === 'unknown').map(({ name }) => name)
  return [
    hidden.length === 0 ? 'nothing here keeps it off' : 'nothing that is known keeps it off',
    ...(odd === undefined ? [] : [odd.detail]),
    ...(hidden.length === 0 ? [] : [`not known: ${hidden.join(', ')}`]),
  ].join('; ')
}

/** Whether it is of this network: its number, and the access points that it may use. TS 23.003 clauses 2.2 and 9. */
export function networkCheck({ row, settings, apns }: Pick<Facts, 'row' | 'settings' | 'apns'>): Found {
  const own = formatPlmn(settings.plmn)
  if (row.plmn !== own)
    return doubtful(
      `its SIM is of ${row.plmn}, and this network is ${own}: phones take none but their own by themselves`,
      `issue another SIM in its place (svc sim issue --replaces ${row.hash}), or set plmn to ${row.plmn} again`,
    )
  const missing = apnsOf(row).filter((apn) => !apns.includes(apn))
  if (missing.length > 0)
    return doubtful(
      `it may use ${missing.join(', ')}, which this network does not have`,
      `take it into the APNs of the policy, or set the APN in the phone to one of ${apns.join(', ')}`,
    )
  return fine(`of ${own}, with ${apnsOf(row).join(', ')}`)
}

/** Whether the clock of the node is believed: while it is not, no SIM expires, and one that has by a wrong clock stays off. */
export function clockCheck({ doubt }: Pick<Facts, 'doubt'>): Found {
  return doubt === undefined
    ? fine('the clock of this node is believed')
    : doubtful(`the clock of this node is not believed: ${doubt}`, 'svc clock confirm, when it is right')
}

/** What was asked of the core for one phone. */
interface CoreAnswers {
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
  readonly provisioning: Found
  readonly subscriber: Found
  readonly answers: CoreAnswers | undefined
  readonly attachState: AttachState
  /** The box's way to the internet; undefined where nobody looks. */
  readonly internet?: Pick<ComponentState, 'status' | 'detail'> | undefined
}

/** Both cores call a phone so that is on; the list of all phones may be some seconds older than the look at this one. */
function isHeldAsOn({ answers, attachState }: Facts): boolean {
  return attachState.attached === false && /^registered\b/i.test(answers?.phone?.state ?? '')
}

/**
 * The attempt that the core's list does not know of: a core leaves a phone as it had it while who comes under its identity does
 * not authenticate, so what it wrote of that is newer than what it lists.
 */
function refusedSince({ answers }: Pick<Facts, 'answers'>): UeAttempt | undefined {
  const [attempt] = answers?.phone?.attempts ?? []
  return attempt?.refusal === 'wrong_keys' && attempt.isCertain ? attempt : undefined
}

/** Asks the core all at once. Never throws but for its signal. */
async function askCore(
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
function coreCheck(answers: CoreAnswers | undefined): Found {
  if (answers === undefined) return unknown('no core driver is loaded', 'set core')
  const { seen, problem } = answers
  const services = [...(seen?.services ?? [])].filter(([, state]) => state !== 'unknown')
  const down = services.filter(([, state]) => state === 'down').map(([name]) => name)
  if (down.length > 0)
    return failed(`down: ${down.join(', ')}`, 'start what is down, or correct where it is: svc doctor')
  const idle = [...(seen?.problems ?? [])].map(([name, words]) => `${name}: ${words}`)
  if (idle.length > 0)
    return failed(
      `not at work: ${idle.join('; ')}`,
      'mend what is named, or restart that function: svc health, and its log',
    )
  if (services.length === 0)
    return unknown(problem ?? 'the core does not say what runs', 'svc health says more')
  return fine(`up: ${services.map(([name]) => name).join(', ')}`)
}

/** Whether a base station is there. */
function radioCheck({ answers, attachState, settings }: Facts): Found {
  if (answers === undefined) return unknown('no core driver is loaded')
  const radios = answers.seen?.radios
  if (radios === undefined) return unknown('the core does not say which base stations it has')
  const refused = answers.phone?.refusedRadio
  if (radios === 0 && attachState.attached === true) return radioOfOneThatIsOn(answers.seen?.otherNetworks)
  if (radios === 0 && answers.seen?.otherNetworks !== undefined)
    return failed(
      `no base station announces this network (${formatPlmn(settings.plmn)}); one announces ${answers.seen.otherNetworks.join(', ')}`,
      'set the core and the cell to the network number of this box; svc core plan shows what would change',
    )
  if (radios === 0 && refused !== undefined)
    return failed(
      `no base station is connected to the core, which refused the last one that came: ${refused}`,
      'set the cell and the core to the same network, tracking area and slices (plmn, tac); svc core plan shows what would change',
    )
  if (radios === 0)
    return failed(
      'no base station is connected to the core',
      'svc tx status says whether the radio may send, svc health why it does not',
    )
  return fine(radios === 1 ? 'a base station is connected' : `${radios} base stations are connected`)
}

/** No base station of this network is there, and the phone is on. */
function radioOfOneThatIsOn(others: readonly string[] | undefined): Found {
  return others === undefined
    ? unknown('this phone is on, but the core lists no base station now: look again in a few seconds')
    : doubtful(`this phone is on through a base station of another network (${others.join(', ')})`, null)
}

/** Whether there is internet beyond the core: a phone without it is on all the same. */
function internetCheck({ internet }: Facts): { readonly internet?: Found } {
  if (internet === undefined) return {}
  const { status, detail } = internet
  if (status === 'ok') return { internet: fine(detail) }
  const advice = 'look at the modem or router that brings the internet'
  return { internet: doubtful(`phones have no data from outside: ${detail}`, advice) }
}

/** Whether it is on the network. */
function attachedCheck(facts: Facts): Found {
  const { attached, lastSeenAtMs } = facts.attachState
  const last = lastSeenAtMs === null ? 'it was never seen' : `last seen ${timestampOrNull(lastSeenAtMs)}`
  if (refusedSince(facts) !== undefined && (attached === true || isHeldAsOn(facts)))
    return unknown('the core still has it as registered, from before its last attempt, which was refused')
  if (attached === true) return fine('its phone is on the network now')
  if (attached === null) return unknown(`the core does not say; ${last}`)
  if (isHeldAsOn(facts))
    return unknown(`the core has it as ${facts.answers?.phone?.state}, which its list had not; ask again`)
  return doubtful(`its phone is not on the network; ${last}`, null)
}

/** What one look found. `advice` says what to do when it is not ok. */
export interface Found {
  readonly status: 'ok' | 'warning' | 'failed' | 'unknown'
  readonly detail: string
  readonly advice: string | null
}

export interface Check extends Found {
  readonly name: string
}

function fine(detail: string): Found {
  return { status: 'ok', detail, advice: null }
}

/** It may keep the phone from getting on, or will. */
function doubtful(detail: string, advice: string | null = null): Found {
  return { status: 'warning', detail, advice }
}

/** It keeps the phone from getting on. */
function failed(detail: string, advice: string): Found {
  return { status: 'failed', detail, advice }
}

/** It could not be found out. */
function unknown(detail: string, advice: string | null = null): Found {
  return { status: 'unknown', detail, advice }
}
