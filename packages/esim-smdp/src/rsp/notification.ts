import { readOne, type Tlv, tlv } from '@steeple/sgp22'
import { onlyChild, tidOf } from './euicc-responses.ts'
import {
  integerOf,
  type MemberList,
  MessageError,
  membersOf,
  NOTIFICATION_METADATA,
  octetsIn,
  SEQUENCE,
  SIGNATURE,
  signatureIn,
  TID,
} from './members.ts'

const RESULT_TAG = 0xbf37
const RESULT_DATA = 0xbf27
const RESULT: MemberList = {
  name: 'profileInstallationResult',
  tags: [{ tag: RESULT_DATA }, { tag: SIGNATURE }],
}
const DATA: MemberList = {
  name: 'profileInstallationResultData',
  tags: [{ tag: TID }, { tag: NOTIFICATION_METADATA }, { tag: 0x06 }, { tag: 0xa2 }],
}
const METADATA: MemberList = {
  name: 'notificationMetadata',
  tags: [{ tag: 0x80 }, { tag: 0x81 }, { tag: 0x0c }, { tag: 0x5a, optional: true }],
}
const ERROR: MemberList = {
  name: 'errorResult',
  tags: [{ tag: 0x80 }, { tag: 0x81 }, { tag: 0x82, optional: true }],
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

/** What both kinds of notification say. */
interface NoticeMetadata {
  readonly seq: number
  readonly event: NoticeEvent
  /** Digits; empty when it names no profile. */
  readonly iccid: string
}

/** Why an installation failed: step and reason. SGP.22 §5.7.6. */
interface InstallFailure {
  readonly command: number
  readonly reason: number
}

/** The result of an installation, signed by the eUICC of the session. */
export interface InstallNotice extends NoticeMetadata {
  readonly kind: 'result'
  readonly tid: string
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  /** Value octets of the SM-DP+'s object identifier. */
  readonly owner: Uint8Array
  /** Undefined: installed. */
  readonly failure: InstallFailure | undefined
}

/** Anything else, with the certificates of the eUICC. */
export interface OtherNotice extends NoticeMetadata {
  readonly kind: 'other'
  readonly signed: Uint8Array
  readonly signature: Uint8Array
  readonly euicc: Uint8Array
  readonly eum: Uint8Array
}

/** The octets of a result, as its eUICC has made them: `BF37`. SGP.22 §5.7.6. */
export function pendingNotification({ signed, signature }: InstallNotice): Uint8Array {
  return tlv(RESULT_TAG, signed, signature)
}

/** Reads a `pendingNotification`. Throws `MessageError`, `TlvError`. */
export function readNotification(text: Uint8Array): InstallNotice | OtherNotice {
  const one = readOne(text)
  if (one.tag === RESULT_TAG) return installNotice(one)
  if (one.tag === SEQUENCE) return otherNotice(one)
  throw new MessageError('pendingNotification is of no known kind')
}

function installNotice(of: Tlv): InstallNotice {
  const outer = membersOf(of, RESULT)
  const data = outer.get(RESULT_DATA)
  const members = membersOf(data, DATA)
  return {
    kind: 'result',
    ...metadataOf(members.get(NOTIFICATION_METADATA)),
    tid: tidOf(members.get(TID)),
    signed: data.raw,
    signature: signatureIn(outer.get(SIGNATURE), 'euiccSignPIR'),
    owner: members.get(0x06).value,
    failure: failureOf(onlyChild(members.get(0xa2), 'finalResult')),
  }
}

function otherNotice(of: Tlv): OtherNotice {
  // Two members have one tag: they are told apart by their places.
  const [metadata, signature, euicc, eum, more] = of.children()
  if (metadata?.tag !== NOTIFICATION_METADATA || signature?.tag !== SIGNATURE)
    throw new MessageError('otherSignedNotification has other members')
  if (euicc?.tag !== SEQUENCE || eum?.tag !== SEQUENCE || more !== undefined)
    throw new MessageError('otherSignedNotification has other members')
  return {
    kind: 'other',
    ...metadataOf(metadata),
    signed: metadata.raw,
    signature: signatureIn(signature, 'euiccNotificationSignature'),
    euicc: euicc.raw,
    eum: eum.raw,
  }
}

function metadataOf(of: Tlv): NoticeMetadata {
  const members = membersOf(of, METADATA)
  const [, bits = 0] = octetsIn(members.get(0x81), 2, 'profileManagementOperation')
  const event = EVENTS.get(bits & 0xf0)
  if (event === undefined) throw new MessageError('a notification tells of no one event')
  const iccid = members.maybe(0x5a)
  return {
    seq: integerOf(members.get(0x80), 'seqNumber'),
    event,
    iccid: iccid === undefined ? '' : swappedDigits(octetsIn(iccid, 10, 'iccid')),
  }
}

function failureOf(of: Tlv): InstallFailure | undefined {
  if (of.tag === 0xa0) return undefined
  if (of.tag !== 0xa1) throw new MessageError('finalResult is neither a success nor an error')
  const members = membersOf(of, ERROR)
  return {
    command: integerOf(members.get(0x80), 'bppCommandId'),
    reason: integerOf(members.get(0x81), 'errorReason'),
  }
}

/** Digits of an ICCID as EF.ICCID has them: halves of each octet exchanged, F behind the last. TS 102 221 §13.2. */
function swappedDigits(octets: Uint8Array): string {
  const text = Buffer.from(octets).toString('hex')
  const digits = text.replaceAll(/(.)(.)/g, '$2$1').replace(/f+$/, '')
  if (!/^\d{18,20}$/.test(digits)) throw new MessageError('iccid has other digits')
  return digits
}
