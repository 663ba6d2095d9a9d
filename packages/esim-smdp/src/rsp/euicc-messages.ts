import { readOne, type Tlv, tlv } from '@steeple/sgp22'
import type { ProfileVersion } from '../parts.ts'
import {
  CHALLENGE_OCTETS,
  choiceOf,
  integer,
  type Member,
  MessageError,
  members,
  object,
  objectOf,
  octets,
  optional,
  type Read,
  raw,
  SEQUENCE,
  SIGNATURE,
  TRANSACTION,
  text,
} from './members.ts'

// What eUICCs say. All of these throw `MessageError`, `TlvError`.

/** More CIs than an eUICC knows. */
const MOST_CIS = 32
// Version 3 adds members to these, which a server of version 2 passes over. Facts section 1.9.
const OPEN = { isOpen: true }
/** Subject key identifiers of CIs, hexadecimal, in the order of the eUICC. */
const keys = (tag: number): Member<readonly string[]> => ({
  tag,
  read: (of) => {
    const found = of.children()
    if (found.length > MOST_CIS) throw new MessageError(`lists ${found.length} CIs`)
    return found.map((key) => {
      if (key.tag !== 0x04) throw new MessageError('lists a CI that is no octet string')
      return Buffer.from(key.value).toString('hex')
    })
  },
})
const INFO1 = {
  /** Version of SGP.22: three numbers. */
  svn: octets(0x82, 3),
  /** CIs whose certificates it can check. */
  verification: keys(0xa9),
  /** Those under which it has a key, the one that it likes best first. */
  signing: keys(0xaa),
}
const INFO2 = {
  ...INFO1,
  profileVersion: optional(octets(0x81, 3)),
  resource: optional(object(0x84)),
  capability: optional(octets(0x85)),
}

/** What an eUICC says of itself at first. SGP.22 §5.7.8. */
export type EuiccInfo1 = Read<typeof INFO1>

interface EuiccInfo2 {
  readonly svn: Uint8Array
  /** Version of profile packages that it takes, major and minor; undefined when it does not say. */
  readonly profileVersion: ProfileVersion | undefined
  /** Free octets for profiles; undefined when it does not say. */
  readonly freeMemory: number | undefined
  /** Whether a bit of UICCCapability is set; undefined when it does not say what it can. */
  readonly can: ((bit: number) => boolean) | undefined
}

/** Reads a `BF20`. */
export function readEuiccInfo1(of: Uint8Array): EuiccInfo1 {
  return members(objectOf(of, 0xbf20, 'euiccInfo1'), 'euiccInfo1', INFO1, OPEN)
}

/** SGP.22 §4.2. */
function euiccInfo2(of: Tlv): EuiccInfo2 {
  const { svn, profileVersion: version, resource, capability } = members(of, 'euiccInfo2', INFO2, OPEN)
  return {
    svn,
    profileVersion: version && [version[0] ?? 0, version[1] ?? 0],
    freeMemory: freeMemoryOf(resource),
    can: canOf(capability),
  }
}

/** Whether a server of version 2 and this eUICC understand each other: later ones fall back to it. */
export function isSpoken(svn: Uint8Array): boolean {
  return (svn[0] ?? 0) >= 2
}

/** A BIT STRING: the first octet counts unused bits, which are zero. Bits that an eUICC of an earlier version does not know are not set. */
function canOf(bits: Uint8Array | undefined): EuiccInfo2['can'] {
  if (bits === undefined || bits.length < 2) return undefined
  return (bit) => ((bits[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0
}

/** ETSI TS 102 226 §8.2.1.7.2, without its outer tag: 81 applications, 82 free non-volatile memory, 83 free volatile memory. */
function freeMemoryOf(resource: Tlv | undefined): number | undefined {
  const free = resource?.children().find(({ tag }) => tag === 0x82)
  if (free === undefined || free.value.length === 0 || free.value.length > 6) return undefined
  return free.value.reduce((sum, octet) => sum * 256 + octet, 0)
}

/** What an eUICC has signed: the object as it was received, and the whole `5F37` object of its signature. */
interface Signed {
  readonly signed: Uint8Array
  readonly signature: Uint8Array
}
const SIGNED_BY = { signed: object(SEQUENCE), signature: SIGNATURE }
/** CERT.EUICC and CERT.EUM, DER. */
const CERTIFIED = { euicc: raw(SEQUENCE), eum: raw(SEQUENCE) }

/** An eUICC that refuses: the number of its error, which it does not sign. */
export interface EuiccError {
  readonly isOk: false
  readonly tid: string
  readonly error: number
}
type Answer<T> = (T & Signed & { readonly isOk: true }) | EuiccError

/** The result in a response; an error of the eUICC comes back as it is. */
function resultOf(of: Uint8Array, tag: number, name: string): Tlv | EuiccError {
  const choice = choiceOf(objectOf(of, tag, name), name)
  if (choice.tag === 0xa1)
    return { isOk: false, ...members(choice, name, { tid: TRANSACTION, error: integer(0x02) }) }
  if (choice.tag !== 0xa0) throw new MessageError(`${name} is neither a result nor an error`)
  return choice
}

const CONTEXT = { matchingId: optional(text(0x80, 255)), device: object(0xa1) }
const DEVICE = { tac: object(0x80), capabilities: object(0xa1), imei: optional(object(0x82)) }
const AUTHENTICATE = {
  tid: TRANSACTION,
  serverAddress: text(0x83),
  serverChallenge: octets(0x84, CHALLENGE_OCTETS),
  info: { tag: 0xbf22, read: euiccInfo2 },
  /** Empty when the LPA was given none. SGP.22 §4.1: an activation code has at most 255 characters. */
  matchingId: {
    tag: 0xa0,
    read: (of: Tlv): string => {
      const { matchingId = '', device } = members(of, 'ctxParamsForCommonAuthentication', CONTEXT, OPEN)
      members(device, 'deviceInfo', DEVICE, OPEN)
      return matchingId
    },
  },
}
/** What an eUICC has signed to authenticate itself. SGP.22 §5.7.13. */
export type AuthenticateOk = Exclude<ReturnType<typeof readAuthenticateResponse>, EuiccError>

/** Reads a `BF38`. */
export function readAuthenticateResponse(
  of: Uint8Array,
): Answer<Read<typeof AUTHENTICATE> & Read<typeof CERTIFIED>> {
  const result = resultOf(of, 0xbf38, 'authenticateServerResponse')
  if ('isOk' in result) return result
  const { signed, ...rest } = members(result, 'authenticateResponseOk', { ...SIGNED_BY, ...CERTIFIED })
  return { isOk: true, ...members(signed, 'euiccSigned1', AUTHENTICATE), ...rest, signed: signed.raw }
}

const DOWNLOAD = {
  tid: TRANSACTION,
  /** The eUICC's one-time public key, `04 || X || Y`. */
  otpk: octets(0x5f49, 65),
  /** `SHA-256(SHA-256(code) || transaction id)`; undefined: no confirmation code was entered. */
  hashCc: optional(octets(0x04, 32)),
}
/** What an eUICC has signed to be given a profile. SGP.22 §5.7.5. */
export type DownloadOk = Exclude<ReturnType<typeof readDownloadResponse>, EuiccError>

/** Reads a `BF21`. */
export function readDownloadResponse(of: Uint8Array): Answer<Read<typeof DOWNLOAD>> {
  const result = resultOf(of, 0xbf21, 'prepareDownloadResponse')
  if ('isOk' in result) return result
  const { signed, signature } = members(result, 'downloadResponseOk', SIGNED_BY)
  const said = members(signed, 'euiccSigned2', DOWNLOAD)
  if (said.otpk[0] !== 0x04) throw new MessageError('euiccOtpk is no uncompressed point')
  return { isOk: true, ...said, signature, signed: signed.raw }
}

const CANCEL = {
  tid: TRANSACTION,
  /** The value octets of the SM-DP+'s object identifier. */
  owner: octets(0x81),
  reason: integer(0x82),
}
/** What an eUICC has signed to end a session. SGP.22 §5.7.14. */
export type CancelOk = Read<typeof CANCEL> & Signed

/** Reads a `BF41`; undefined for an eUICC that could not end it, which signs nothing. */
export function readCancelResponse(of: Uint8Array): CancelOk | undefined {
  const name = 'cancelSessionResponse'
  const choice = choiceOf(objectOf(of, 0xbf41, name), name)
  // An INTEGER with or without its own tag: both are in use. Facts section 1.2.
  if (choice.tag === 0xa1 || choice.tag === 0x81) return undefined
  if (choice.tag !== 0xa0) throw new MessageError(`${name} is neither a result nor an error`)
  const { signed, signature } = members(choice, name, SIGNED_BY)
  return { ...members(signed, 'euiccCancelSessionSigned', CANCEL), signature, signed: signed.raw }
}

/** What a notification tells of. SGP.22 §5.7.9. */
export type NoticeEvent = 'install' | 'enable' | 'disable' | 'delete'
/** Bits of the event, the first of four in the highest. Facts section 1.2. */
const EVENTS: ReadonlyMap<number, NoticeEvent> = new Map([
  [0x80, 'install'],
  [0x40, 'enable'],
  [0x20, 'disable'],
  [0x10, 'delete'],
])
const NOTIFICATION_METADATA = 0xbf2f
const METADATA = {
  seq: integer(0x80),
  event: {
    tag: 0x81,
    read: ({ value }: Tlv): NoticeEvent => {
      const event = value.length === 2 ? EVENTS.get((value[1] ?? 0) & 0xf0) : undefined
      if (event === undefined) throw new MessageError('a notification tells of no one event')
      return event
    },
  },
  address: object(0x0c),
  iccid: optional(octets(0x5a, 10)),
}
/** Why an installation failed: step and reason. SGP.22 §5.7.6. */
const FAILURE = { command: integer(0x80), reason: integer(0x81), simaResponse: optional(object(0x82)) }
const RESULT_TAG = 0xbf37
const RESULT = {
  tid: TRANSACTION,
  metadata: { tag: NOTIFICATION_METADATA, read: noticeMetadata },
  /** Value octets of the SM-DP+'s object identifier. */
  owner: octets(0x06),
  /** Undefined: installed. */
  failure: {
    tag: 0xa2,
    read: (of: Tlv): Pick<Read<typeof FAILURE>, 'command' | 'reason'> | undefined => {
      const final = choiceOf(of, 'finalResult')
      if (final.tag === 0xa0) return undefined
      if (final.tag !== 0xa1) throw new MessageError('finalResult is neither a success nor an error')
      return members(final, 'errorResult', FAILURE)
    },
  },
}

/** What both kinds of notification say. */
interface NoticeMetadata {
  readonly seq: number
  readonly event: NoticeEvent
  /** Digits; empty when it names no profile. */
  readonly iccid: string
}
/** The result of an installation, signed by the eUICC of the session. */
export type InstallNotice = { readonly kind: 'result' } & Omit<Read<typeof RESULT>, 'metadata'> &
  NoticeMetadata &
  Signed
/** Anything else, with the certificates of the eUICC. */
export type OtherNotice = { readonly kind: 'other' } & Read<typeof CERTIFIED> & NoticeMetadata & Signed

/** Reads a `pendingNotification`. */
export function readNotification(of: Uint8Array): InstallNotice | OtherNotice {
  const one = readOne(of)
  if (one.tag === RESULT_TAG) return installNotice(one)
  if (one.tag !== SEQUENCE) throw new MessageError('pendingNotification is of no known kind')
  const { metadata, ...rest } = members(one, 'otherSignedNotification', {
    metadata: object(NOTIFICATION_METADATA),
    signature: SIGNATURE,
    ...CERTIFIED,
  })
  return { kind: 'other', ...noticeMetadata(metadata), ...rest, signed: metadata.raw }
}

/** The octets of a result, as its eUICC has made them: `BF37`. SGP.22 §5.7.6. */
export function pendingNotification({ signed, signature }: InstallNotice): Uint8Array {
  return tlv(RESULT_TAG, signed, signature)
}

function installNotice(of: Tlv): InstallNotice {
  const { data, signature } = members(of, 'profileInstallationResult', {
    data: object(0xbf27),
    signature: SIGNATURE,
  })
  const { metadata, ...said } = members(data, 'profileInstallationResultData', RESULT)
  return { kind: 'result', ...metadata, ...said, signed: data.raw, signature }
}

function noticeMetadata(of: Tlv): NoticeMetadata {
  const { seq, event, iccid } = members(of, 'notificationMetadata', METADATA)
  return { seq, event, iccid: iccid === undefined ? '' : swappedDigits(iccid) }
}

/** Digits of an ICCID as EF.ICCID has them: halves of each octet exchanged, F behind the last. TS 102 221 §13.2. */
function swappedDigits(value: Uint8Array): string {
  const digits = Buffer.from(value)
    .toString('hex')
    .replaceAll(/(.)(.)/g, '$2$1')
    .replace(/f+$/, '')
  if (!/^\d{18,20}$/.test(digits)) throw new MessageError('iccid has other digits')
  return digits
}
