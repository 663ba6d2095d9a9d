import type { UeAttempt, UeDiagnosis, UeRefusal } from '@steeple/contracts'
import { wantedInHss } from '../states/machine.ts'
import { apnsOf } from '../store/sim-row.ts'
import { type Check, doubtful, failed, fine, unknown } from './check.ts'
import { type Facts, isHeldAsOn, refusedSince } from './core-checks.ts'

const name = 'attempts'

/** What became of its attempts, as far as the core tells. */
export function attemptsCheck(facts: Facts, isHindered: boolean): Check {
  const { row, sight, answers } = facts
  const phone = answers?.phone
  const isOn = sight.attached === true || isHeldAsOn(facts)
  const [attempt] = phone?.attempts ?? []
  if (attempt !== undefined) {
    // One that is to be off is refused as it should be: its state says what to do.
    const advice = wantedInHss(row.state) === 'open' ? ADVICE[attempt.refusal](facts) : null
    // Who is on may have been refused another connection since.
    const isOnSince = isOn && refusedSince(facts) === undefined
    return advice === null || isOnSince
      ? doubtful(name, wordsOf(attempt), advice)
      : failed(name, wordsOf(attempt), advice)
  }
  if (isOn)
    return fine(
      name,
      sight.attached === true ? 'the last one succeeded' : `the core has it as ${phone?.state}`,
    )
  if (answers === undefined) return unknown(name, 'no core driver is loaded')
  if (phone === undefined) return unknown(name, answers.problem ?? 'this core does not say who tried')
  return quietCheck(facts, phone, isHindered)
}

/** Of one that was not refused, as far as that is known. */
function quietCheck(facts: Facts, phone: UeDiagnosis, isHindered: boolean): Check {
  if (phone.attempts === undefined) {
    const state =
      phone.state === undefined ? 'the core has not heard of it' : `the core has it as ${phone.state}`
    return unknown(name, `${state}; refusals are not known: ${phone.logProblem ?? 'no log'}`)
  }
  // Whoever looks at the phone looks in vain while something else keeps it off.
  const advice =
    wantedInHss(facts.row.state) !== 'open' || isHindered || isKeptOff(facts) ? null : QUIET(facts)
  if (phone.state === undefined) return doubtful(name, 'the core has not heard of this phone', advice)
  return doubtful(name, `the core has it as ${phone.state}; it was not refused since`, advice)
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
      ? `the HSS holds it with its service now (svc sim show ${hash}): switch the phone off and on`
      : `its subscriber has no service in the HSS: svc sim show ${hash} says whether it is provisioned; then switch the phone off and on`,
  other: () =>
    "look the cause up in TS 24.301 §9.9.3.9 (LTE) or TS 24.501 §9.11.3.2 (NR), and in the core's log",
}
