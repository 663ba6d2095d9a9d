const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** Longer than anything that an LPA sends: requests have some 2 kB. Facts section 7. */
const MOST_OCTETS = 65_536

/** The members of a request, each refused by the code that goes with it. */
interface JsonBody {
  /** A text. Throws `Refused`. */
  text(name: string, otherwise: RefusalName): string
  /** The octets of a base64 text. Throws `Refused`. */
  octets(name: string, otherwise: RefusalName): Uint8Array
}

/** Reads the body of a request. Throws `Refused` for what is no JSON object. */
export function readBody(body: Uint8Array, otherwise: RefusalName): JsonBody {
  const parsed = parsedOf(body, otherwise)
  const text = (name: string, refusal: RefusalName): string => {
    const value: unknown = Object.hasOwn(parsed, name) ? Reflect.get(parsed, name) : undefined
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

function parsedOf(body: Uint8Array, otherwise: RefusalName): object {
  if (body.length > MOST_OCTETS) throw new Refused(otherwise)
  let parsed: unknown
  try {
    parsed = JSON.parse(Buffer.from(body).toString('utf8'))
  } catch (cause) {
    throw new Refused(otherwise, { cause })
  }
  if (typeof parsed !== 'object' || parsed === null) throw new Refused(otherwise)
  return parsed
}

/**
 * Why a call of ES9+ is refused: subject code, reason code, and words for a person. SGP.22 §5.2.6, facts section 1.7.
 *
 * A body that cannot be read has the code of what is missing in it: `address` where no request can be made out of a first
 * call, `transaction` in a later one, `signature` for a response of the eUICC that is not one.
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
  busy: ['8.8', '4.2', 'Too many calls; try again later.'],
  unavailable: ['8.8', '4.2', 'This SM-DP+ cannot do that now; try again later.'],
} as const

/** Name of a refusal: the label of its metric. */
export type RefusalName = keyof typeof REFUSALS

/** A call that is refused with a code of SGP.22. Thrown inside this package alone; it never reaches the edge. */
export class Refused extends Error {
  readonly refusal: RefusalName

  constructor(refusal: RefusalName, options?: ErrorOptions) {
    super(REFUSALS[refusal][2], options)
    this.name = 'Refused'
    this.refusal = refusal
  }
}

/** The body of an answer that refuses. SGP.22 §6.5.1.4. */
export function refusedBody(refusal: RefusalName): object {
  const [subjectCode, reasonCode, message] = REFUSALS[refusal]
  const statusCodeData = { subjectCode, reasonCode, message }
  return { header: { functionExecutionStatus: { status: 'Failed', statusCodeData } } }
}

/** The body of an answer that gives what was asked for. */
export function executedBody(fields: Readonly<Record<string, string>> = {}): object {
  return { header: { functionExecutionStatus: { status: 'Executed-Success' } }, ...fields }
}
