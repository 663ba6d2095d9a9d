import type { Tlv } from '@steeple/sgp22'
import { type EuiccInfo2, readEuiccInfo2 } from './euicc-info.ts'
import {
  integerOf,
  type MemberList,
  MessageError,
  membersOf,
  objectOf,
  octetsIn,
  signatureIn,
  textOf,
  upperHex,
} from './members.ts'
import { CHALLENGE_OCTETS, SEQUENCE, SIGNATURE, TID } from './tags.ts'

const NAME = 'authenticateServerResponse'
const OK = 0xa0
const ERROR = 0xa1
const INFO2 = 0xbf22
const CONTEXT = 0xa0
const DEVICE = 0xa1
const SIGNED: MemberList = {
  name: 'euiccSigned1',
  tags: [{ tag: TID }, { tag: 0x83 }, { tag: 0x84 }, { tag: INFO2 }, { tag: CONTEXT }],
}
// Version 3 adds members to these. Facts section 1.9.
const CONTEXT_MEMBERS: MemberList = {
  name: 'ctxParamsForCommonAuthentication',
  tags: [{ tag: 0x80, optional: true }, { tag: DEVICE }],
  open: true,
}
const DEVICE_MEMBERS: MemberList = {
  name: 'deviceInfo',
  tags: [{ tag: 0x80 }, { tag: 0xa1 }, { tag: 0x82, optional: true }],
  open: true,
}
const ERROR_MEMBERS: MemberList = { name: NAME, tags: [{ tag: TID }, { tag: 0x02 }] }
/** SGP.22 §4.1: an activation code has at most 255 characters. */
const MATCHING_ID_OCTETS = 255

/** What an eUICC has signed to authenticate itself. SGP.22 §5.7.13. */
export interface AuthenticateOk {
  readonly isOk: true
  /** Upper-case hexadecimal. */
  readonly tid: string
  /** `euiccSigned1` as it was received: what the signature is over. */
  readonly signed: Uint8Array
  /** The whole `5F37` object. */
  readonly signature: Uint8Array
  readonly serverAddress: string
  readonly serverChallenge: Uint8Array
  readonly info: EuiccInfo2
  /** Empty when the LPA was given none. */
  readonly matchingId: string
  /** CERT.EUICC and CERT.EUM, DER. */
  readonly euicc: Uint8Array
  readonly eum: Uint8Array
}

/** An eUICC that refuses: the number of its error, which it does not sign. */
export interface EuiccError {
  readonly isOk: false
  readonly tid: string
  readonly error: number
}

/** Reads a `BF38`. Throws `MessageError`, `TlvError`. */
export function readAuthenticateResponse(text: Uint8Array): AuthenticateOk | EuiccError {
  const choice = onlyChild(objectOf(text, 0xbf38, NAME), NAME)
  if (choice.tag === ERROR) return euiccError(choice, ERROR_MEMBERS)
  if (choice.tag !== OK) throw new MessageError(`${NAME} is neither a result nor an error`)
  // Two members have one tag: they are told apart by their places.
  const [signed, signature, euicc, eum, more] = choice.children()
  if (eum === undefined || signed === undefined || signature === undefined || euicc === undefined)
    throw new MessageError(`${NAME} has not all its members`)
  const isInPlace = [signed, euicc, eum].every(({ tag }) => tag === SEQUENCE) && signature.tag === SIGNATURE
  if (!isInPlace || more !== undefined) throw new MessageError(`${NAME} has other members`)
  const members = membersOf(signed, SIGNED)
  const context = membersOf(members.get(CONTEXT), CONTEXT_MEMBERS)
  membersOf(context.get(DEVICE), DEVICE_MEMBERS)
  return {
    isOk: true,
    tid: tidOf(members.get(TID)),
    signed: signed.raw,
    signature: signatureIn(signature, 'euiccSignature1'),
    serverAddress: textOf(members.get(0x83)),
    serverChallenge: octetsIn(members.get(0x84), CHALLENGE_OCTETS, 'serverChallenge'),
    info: readEuiccInfo2(members.get(INFO2)),
    matchingId: matchingIdOf(context.maybe(0x80)),
    euicc: euicc.raw,
    eum: eum.raw,
  }
}

/** The transaction id of an object, 1 to 16 octets, as upper-case hexadecimal. Throws `MessageError`. */
export function tidOf(of: Tlv): string {
  if (of.value.length === 0 || of.value.length > 16)
    throw new MessageError('transactionId has another length')
  return upperHex(of.value)
}

/** The one child that a CHOICE has. Throws `MessageError`. */
export function onlyChild(of: Tlv, name: string): Tlv {
  const [first, second] = of.children()
  if (first === undefined || second !== undefined) throw new MessageError(`${name} is not one choice`)
  return first
}

/** Reads an error of an eUICC. Throws `MessageError`. */
export function euiccError(of: Tlv, list: MemberList): EuiccError {
  const members = membersOf(of, list)
  const [, number] = list.tags
  return {
    isOk: false,
    tid: tidOf(members.get(TID)),
    error: integerOf(members.get(number?.tag ?? 0x02), 'error'),
  }
}

function matchingIdOf(of: Tlv | undefined): string {
  if (of === undefined) return ''
  if (of.value.length > MATCHING_ID_OCTETS) throw new MessageError('matchingId is too long')
  return textOf(of)
}
