/**
 * Subject code, reason code and words for a person. SGP.22 §5.3 and §5.2.6, facts section 1.7.
 *
 * "Invalid association" is 3.10; the table of lpac has 3.1 in its place, which loses the zero. The codes of a message
 * that cannot be read (1.…) are those of SGP.22 §5.2.6.1 for formats, as no function lists any.
 */
const ES2_REFUSALS = {
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
  busy: ['8.8', '4.2', 'Too many calls; try again later.'],
  unavailable: ['8.8', '4.2', 'This SM-DP+ cannot do that now; try again later.'],
} as const

/** Why a call of ES2+ is refused: a label of its metric. */
export type Es2RefusalName = keyof typeof ES2_REFUSALS

/** A call that is refused. Thrown inside this package alone. */
export class Es2Refused extends Error {
  readonly refusal: Es2RefusalName

  /** `detail`: what exactly, where the words of the code do not say it. No secret. */
  constructor(refusal: Es2RefusalName, options: ErrorOptions & { readonly detail?: string } = {}) {
    const { detail, ...rest } = options
    const words = ES2_REFUSALS[refusal][2]
    super(detail === undefined ? words : `${words} ${detail}`, rest)
    this.name = 'Es2Refused'
    this.refusal = refusal
  }
}

/** The body of an answer that refuses. SGP.22 §6.5.1.4. */
export function es2RefusedBody({ refusal, message }: Es2Refused): object {
  const [subjectCode, reasonCode] = ES2_REFUSALS[refusal]
  const statusCodeData = { subjectCode, reasonCode, message }
  return { header: { functionExecutionStatus: { status: 'Failed', statusCodeData } } }
}

/** A request of ES2+, its header checked. SGP.22 §6.5.1.3. */
export interface Es2Message {
  readonly requester: string
  readonly call: string
  /** Its members in a form that does not depend on their order: what the call is recognised by. */
  readonly canonical: string
  /** A text of that form, undefined when there is none. Throws `Es2Refused` (`format`) for anything else. */
  text(name: string, pattern: RegExp): string | undefined
  /** Throws `Es2Refused` (`format`) when it is no boolean; undefined when there is none. */
  flag(name: string): boolean | undefined
}

/** Octets; a request has some hundred. */
const MOST_BODY_OCTETS = 16_384
const MOST_IDENTIFIER = 128

/** Reads a request. Throws `Es2Refused`. */
export function readMessage(octets: Uint8Array): Es2Message {
  const body = objectIn(octets)
  const header = memberOf(body, 'header')
  const named = typeof header === 'object' && header !== null ? header : {}
  const requester = identifier(memberOf(named, 'functionRequesterIdentifier'))
  if (requester === undefined) throw new Es2Refused('requester_missing')
  const call = identifier(memberOf(named, 'functionCallIdentifier'))
  if (call === undefined) throw new Es2Refused('call_missing')
  return {
    requester,
    call,
    canonical: canonical(body),
    text: (name, pattern) => {
      const value = memberOf(body, name)
      if (value === undefined || value === null) return undefined
      if (typeof value !== 'string' || !pattern.test(value))
        throw new Es2Refused('format', { detail: `(${name})` })
      return value
    },
    flag: (name) => {
      const value = memberOf(body, name)
      if (value === undefined || value === null) return undefined
      if (typeof value !== 'boolean') throw new Es2Refused('format', { detail: `(${name})` })
      return value
    },
  }
}

function objectIn(octets: Uint8Array): object {
  if (octets.length > MOST_BODY_OCTETS) throw new Es2Refused('format')
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(octets))
  } catch (cause) {
    throw new Es2Refused('format', { detail: '(no JSON)', cause })
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Es2Refused('format', { detail: '(no JSON object)' })
  return parsed
}

function memberOf(from: object, name: string): unknown {
  return Object.hasOwn(from, name) ? Reflect.get(from, name) : undefined
}

/** Printable ASCII: it goes into the audit trail. */
function identifier(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length === 0 || value.length > MOST_IDENTIFIER) return undefined
  return /^[\x20-\x7e]+$/.test(value) ? value : undefined
}

/** Members by name; no function has one that is more than a text or a flag. */
function canonical(body: object): string {
  const members = Object.entries(body)
    .filter(([name]) => name !== 'header')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, value] of members)
    if (typeof value === 'object' && value !== null)
      throw new Es2Refused('format', { detail: `(${shown(name)})` })
  return JSON.stringify(members)
}

function shown(name: string): string {
  return name.replaceAll(/[^\w.-]/g, '?').slice(0, 32)
}
