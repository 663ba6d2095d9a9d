import type { Tlv } from '@steeple/sgp22'
import { type EuiccInfo2, readEuiccInfo2 } from './euicc-info.ts'
import {
  CHALLENGE_OCTETS,
  integerOf,
  type MemberList,
  MessageError,
  membersOf,
  OTPK,
  objectOf,
  octetsIn,
  SEQUENCE,
  SIGNATURE,
  signatureIn,
  TID,
  textOf,
  upperHex,
} from './members.ts'

const DOWNLOAD = 'prepareDownloadResponse'
const DOWNLOAD_MEMBERS: MemberList = { name: DOWNLOAD, tags: [{ tag: SEQUENCE }, { tag: SIGNATURE }] }
const DOWNLOAD_SIGNED: MemberList = {
  name: 'euiccSigned2',
  tags: [{ tag: TID }, { tag: OTPK }, { tag: 0x04, optional: true }],
}
const DOWNLOAD_ERROR: MemberList = { name: DOWNLOAD, tags: [{ tag: TID }, { tag: 0x02 }] }
const POINT_OCTETS = 65
const HASH_OCTETS = 32

/** What an eUICC has signed to be given a profile. SGP.22 §5.7.5. */
export interface DownloadOk {
  readonly isOk: true
  readonly tid: string
  /** `euiccSigned2` as it was received. */
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  /** The eUICC's one-time public key, `04 || X || Y`. */
  readonly otpk: Uint8Array
  /** `SHA-256(SHA-256(code) || transaction id)`; undefined: no confirmation code was entered. */
  readonly hashCc: Uint8Array | undefined
}

/** Reads a `BF21`. Throws `MessageError`, `TlvError`. */
export function readDownloadResponse(text: Uint8Array): DownloadOk | EuiccError {
  const choice = onlyChild(objectOf(text, 0xbf21, DOWNLOAD), DOWNLOAD)
  if (choice.tag === 0xa1) return euiccError(choice, DOWNLOAD_ERROR)
  if (choice.tag !== 0xa0) throw new MessageError(`${DOWNLOAD} is neither a result nor an error`)
  const outer = membersOf(choice, DOWNLOAD_MEMBERS)
  const signed = outer.get(SEQUENCE)
  const members = membersOf(signed, DOWNLOAD_SIGNED)
  const otpk = octetsIn(members.get(OTPK), POINT_OCTETS, 'euiccOtpk')
  if (otpk[0] !== 0x04) throw new MessageError('euiccOtpk is no uncompressed point')
  const hash = members.maybe(0x04)
  return {
    isOk: true,
    tid: tidOf(members.get(TID)),
    signed: signed.raw,
    signature: signatureIn(outer.get(SIGNATURE), 'euiccSignature2'),
    otpk,
    hashCc: hash === undefined ? undefined : octetsIn(hash, HASH_OCTETS, 'hashCc'),
  }
}

const CANCEL = 'cancelSessionResponse'
const CANCEL_MEMBERS: MemberList = { name: CANCEL, tags: [{ tag: SEQUENCE }, { tag: SIGNATURE }] }
const CANCEL_SIGNED: MemberList = {
  name: 'euiccCancelSessionSigned',
  tags: [{ tag: TID }, { tag: 0x81 }, { tag: 0x82 }],
}

/** What an eUICC has signed to end a session. SGP.22 §5.7.14. */
export interface CancelOk {
  readonly tid: string
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  /** The value octets of the SM-DP+'s object identifier. */
  readonly owner: Uint8Array
  readonly reason: number
}

/** Reads a `BF41`; undefined for an eUICC that could not end it, which signs nothing. Throws `MessageError`, `TlvError`. */
export function readCancelResponse(text: Uint8Array): CancelOk | undefined {
  const choice = onlyChild(objectOf(text, 0xbf41, CANCEL), CANCEL)
  // An INTEGER with or without its own tag: both are in use. Facts section 1.2.
  if (choice.tag === 0xa1 || choice.tag === 0x81) return undefined
  if (choice.tag !== 0xa0) throw new MessageError(`${CANCEL} is neither a result nor an error`)
  const outer = membersOf(choice, CANCEL_MEMBERS)
  const signed = outer.get(SEQUENCE)
  const members = membersOf(signed, CANCEL_SIGNED)
  return {
    tid: tidOf(members.get(TID)),
    signed: signed.raw,
    signature: signatureIn(outer.get(SIGNATURE), 'euiccCancelSessionSignature'),
    owner: members.get(0x81).value,
    reason: integerOf(members.get(0x82), 'reason'),
  }
}

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
function euiccError(of: Tlv, list: MemberList): EuiccError {
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
