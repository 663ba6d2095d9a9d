import { type Subscriber, validationFailed } from '@steeple/contracts'
import { apnProblem } from '@steeple/telecom'
import { rateParts, SESSIONS_MAX } from './open5gs/ambr.ts'

/** Characters of an MSISDN, ITU-T E.164. */
const MSISDN = /^[0-9]{3,15}$/
const IMSI = /^[0-9]{6,15}$/
const KEY_OCTETS = 16
/** TS 33.102 §6.3.2: SQN has 48 bits. */
const SQN_MAX = 2n ** 48n - 1n

/** Throws `validation_failed` for a subscriber that a core could not hold. Says what, never who. */
export function checkSubscriber(subscriber: Subscriber): void {
  checkNumbers(subscriber)
  checkKeys(subscriber)
  // What an HSS held already it takes.
  if (subscriber.found === undefined) checkApns(subscriber)
  rateParts(subscriber.ambrBps.down)
  rateParts(subscriber.ambrBps.up)
}

function checkNumbers({ imsi, msisdn }: Subscriber): void {
  if (!IMSI.test(imsi)) throw validationFailed('an IMSI must be 6 to 15 digits')
  if (msisdn !== undefined && !MSISDN.test(msisdn)) throw validationFailed('an MSISDN must be 3 to 15 digits')
}

function checkKeys({ ki, opc, sqn }: Subscriber): void {
  if (ki.length !== KEY_OCTETS || opc.length !== KEY_OCTETS)
    throw validationFailed('Ki and OPc must be 16 octets each')
  if (sqn < 0n || sqn > SQN_MAX) throw validationFailed('a SQN must be 0 to 2^48 - 1')
}

function checkApns({ apns }: Subscriber): void {
  if (apns.length === 0) throw validationFailed('a subscriber needs at least one APN')
  if (apns.length > SESSIONS_MAX)
    throw validationFailed(
      `a subscriber can have ${SESSIONS_MAX} APNs, not ${apns.length}: more stop the HSS`,
    )
  for (const apn of apns) {
    const problem = apnProblem(apn)
    if (problem !== undefined) throw validationFailed(`the APN ${JSON.stringify(apn)} ${problem}`)
  }
  if (new Set(apns.map((apn) => apn.toLowerCase())).size !== apns.length)
    throw validationFailed('a subscriber can have an APN only once')
}
