import { isUtf8 } from 'node:buffer'
import { isRecord, jsonIn } from '@steeple/contracts'

/** In every message of ES2+ and ES9+. Phones take any of version 2, and a server of version 3 serves it as well. SGP.22 §6.5.1.1. */
export const HEADERS = {
  'content-type': 'application/json',
  'x-admin-protocol': 'gsma/rsp/v2.5.0',
} as const
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** Longer than anything that an LPA sends: requests have some 2 kB. Facts section 7. */
const MOST_OCTETS = 65_536

/** The JSON object that some octets of UTF-8 are; undefined for anything else, such as with a BOM before it. RFC 8259 §8.1. */
export function objectIn(octets: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  const value = isUtf8(octets) ? jsonIn(Buffer.from(octets).toString()) : undefined
  return isRecord(value) ? value : undefined
}

/** A member of an object; undefined when it is none or has none. */
export function memberOf(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** The members of a request, each refused by the code that goes with it. */
interface JsonBody {
  /** A text. Throws `Refused`. */
  text(name: string, otherwise: RefusalName): string
  /** The octets of a base64 text. Throws `Refused`. */
  octets(name: string, otherwise: RefusalName): Uint8Array
}

/** Reads the body of a request of ES9+. Throws `Refused` for what is no JSON object. */
export function readBody(body: Uint8Array, otherwise: RefusalName): JsonBody {
  const object = body.length > MOST_OCTETS ? undefined : objectIn(body)
  if (object === undefined) throw new Refused(otherwise)
  const text = (name: string, refusal: RefusalName): string => {
    const value = memberOf(object, name)
    if (typeof value !== 'string') throw new Refused(refusal)
    return value
  }
  return {
    text,
    octets: (name, refusal) => {
      // Some LPAs break the lines of what they send.
      const encoded = text(name, refusal).replaceAll(/\s/g, '')
      if (encoded.length % 4 !== 0 || !BASE64.test(encoded)) throw new Refused(refusal)
      return Buffer.from(encoded, 'base64')
    },
  }
}

/**
 * Why a call is refused: subject code, reason code, and words for a person. SGP.22 §5.2.6 and §5.3, facts section 1.7.
 *
 * A body of ES9+ that cannot be read has the code of what is missing in it: `address` where no request can be made out of a first
 * call, `transaction` in a later one, `signature` for a response of the eUICC that is not one. The codes of a message of ES2+ that cannot
 * be read (1.…) are those of SGP.22 §5.2.6.1 for formats, as no function lists any. "Invalid association" is 3.10; the table of lpac has
 * 3.1 in its place, which loses the zero.
 */
export const REFUSALS = {
  address: ['8.8.1', '3.8', 'This is not the address of this SM-DP+.'],
  version: ['8.8.3', '3.1', 'The eUICC speaks no version of SGP.22 that this SM-DP+ speaks.'],
  verification_ci: ['8.8.4', '3.7', 'The eUICC knows no CI that certifies this SM-DP+.'],
  signing_ci: ['8.8.2', '3.1', 'The eUICC has no key under a CI that this SM-DP+ accepts.'],
  transaction: ['8.10.1', '3.9', 'There is no such session, or it is over; begin again.'],
  issuer_ci: ['8.11.1', '3.9', 'The certificate of the EUM is from another CI.'],
  eum_certificate: ['8.1.2', '6.1', 'The certificate of the EUM is not good.'],
  eum_expired: ['8.1.2', '6.3', 'The certificate of the EUM is not valid now.'],
  euicc_certificate: ['8.1.3', '6.1', 'The certificate of the eUICC is not good.'],
  euicc_expired: ['8.1.3', '6.3', 'The certificate of the eUICC is not valid now.'],
  signature: ['8.1', '6.1', 'What the eUICC signed does not fit.'],
  euicc_error: ['8.1', '6.1', 'The eUICC refused the session.'],
  memory: ['8.1', '4.8', 'The eUICC has not enough space.'],
  matching_id: ['8.2.6', '3.8', 'This activation code is not known or of no use any more.'],
  other_eid: ['8.1.1', '3.8', 'This activation code belongs to another device.'],
  not_released: ['8.2', '1.2', 'The profile of this activation code cannot be downloaded now.'],
  order_expired: ['8.8.5', '4.1', 'This activation code has expired.'],
  too_many: ['8.8.5', '6.4', 'Too many attempts.'],
  not_eligible: ['8.2.5', '4.3', 'This eUICC cannot take the profile.'],
  confirmation_missing: ['8.2.7', '2.2', 'A confirmation code is needed.'],
  confirmation_refused: ['8.2.7', '3.8', 'The confirmation code is wrong.'],
  confirmation_exceeded: ['8.2.7', '6.4', 'Too many wrong confirmation codes.'],
  owner: ['8.8', '3.10', 'This is for another SM-DP+.'],
  locked: ['8.8.5', '6.4', 'Too many attempts of this device; try again later.'],
  // Of ES2+ alone.
  format: ['1.3.1', '2.1', 'The message cannot be understood.'],
  requester_missing: ['1.1', '2.2', 'header.functionRequesterIdentifier is missing.'],
  call_missing: ['1.6', '2.2', 'header.functionCallIdentifier is missing.'],
  profile_missing: ['8.2.1', '2.2', 'An order needs an iccid or a profileType.'],
  iccid_unknown: ['8.2.1', '3.9', 'The profile of this ICCID is not known.'],
  iccid_not_allowed: ['8.2.1', '1.2', 'The profile of this ICCID is not yours to order.'],
  iccid_unavailable: ['8.2.1', '3.3', 'The profile of this ICCID is not available for that now.'],
  iccid_not_releasable: ['8.2.1', '3.5', 'The profile of this ICCID cannot be released now.'],
  type_unknown: ['8.2.5', '3.9', 'This profile type is not known.'],
  type_unavailable: ['8.2.5', '3.7', 'There is no more profile of this type.'],
  type_differs: ['8.2.5', '3.8', 'The profile of this ICCID is of another type.'],
  eid_missing: ['8.1.1', '2.2', 'Without a matching id the order needs an EID.'],
  eid_differs: ['8.1.1', '3.10', 'The order is for another EID.'],
  eid_unclear: [
    '8.1.1',
    '3.10',
    'Certificates of no CI or of several are in use here, and ES2+ cannot say which one this EID is of.',
  ],
  matching_id_format: ['8.2.6', '2.1', 'A matching id has 1 to 64 of A-Z, 0-9 and hyphens.'],
  matching_id_weak: [
    '8.2.6',
    '2.1',
    'A matching id for any EID needs room for 128 random bits: 25 letters and digits, 32 hexadecimal or 39 decimal ones. Leave it out to have one drawn, or link the order to an EID.',
  ],
  matching_id_taken: ['8.2.6', '3.3', 'This matching id is in use.'],
  matching_id_differs: ['8.2.6', '3.10', 'The order has another matching id.'],
  sm_ds: ['8.9', '5.1', 'This SM-DP+ registers nothing at an SM-DS.'],
  // Of both.
  busy: ['8.8', '4.2', 'Too many calls; try again later.'],
  unavailable: ['8.8', '4.2', 'This SM-DP+ cannot do that now; try again later.'],
} as const

/** Name of a refusal: the label of its metric. */
export type RefusalName = keyof typeof REFUSALS

/** A call that is refused with a code of SGP.22. Thrown inside this package alone; it never reaches the edge. */
export class Refused extends Error {
  readonly refusal: RefusalName

  /** `detail`: what exactly, where the words of the code do not say it. No secret. */
  constructor(refusal: RefusalName, options: ErrorOptions & { readonly detail?: string } = {}) {
    const { detail, ...rest } = options
    const words = REFUSALS[refusal][2]
    super(detail === undefined ? words : `${words} ${detail}`, rest)
    this.name = 'Refused'
    this.refusal = refusal
  }
}

/** The body of an answer that refuses. SGP.22 §6.5.1.4. */
export function refusedBody({ refusal, message }: Refused): object {
  const [subjectCode, reasonCode] = REFUSALS[refusal]
  const statusCodeData = { subjectCode, reasonCode, message }
  return { header: { functionExecutionStatus: { status: 'Failed', statusCodeData } } }
}

/** The body of an answer that gives what was asked for: the header has the status alone, and does not repeat who has called. */
export function executedBody(fields: Readonly<Record<string, string>>): object {
  return { header: { functionExecutionStatus: { status: 'Executed-Success' } }, ...fields }
}
