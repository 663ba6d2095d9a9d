/** Why a call of ES2+ is refused: a label of its metric. */
export type Es2RefusalName =
  | 'format'
  | 'requester_missing'
  | 'call_missing'
  | 'profile_missing'
  | 'iccid_unknown'
  | 'iccid_not_allowed'
  | 'iccid_unavailable'
  | 'iccid_not_releasable'
  | 'type_unknown'
  | 'type_unavailable'
  | 'type_differs'
  | 'eid_missing'
  | 'eid_differs'
  | 'eid_unclear'
  | 'matching_id_format'
  | 'matching_id_weak'
  | 'matching_id_taken'
  | 'matching_id_differs'
  | 'sm_ds'
  | 'busy'
  | 'unavailable'

/**
 * Subject code, reason code and words for a person. SGP.22 §5.3 and §5.2.6, facts section 1.7.
 *
 * "Invalid association" is 3.10; the table of lpac has 3.1 in its place, which loses the zero. The codes of a message
 * that cannot be read (1.…) are those of SGP.22 §5.2.6.1 for formats, as no function lists any.
 */
export const ES2_REFUSALS: Readonly<Record<Es2RefusalName, readonly [string, string, string]>> = {
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
    'A matching id for any EID needs room for 128 random bits: 25 letters and digits, 32 hexadecimal or 39 decimal ones. ' +
      'Leave it out to have one drawn, or link the order to an EID.',
  ],
  matching_id_taken: ['8.2.6', '3.3', 'This matching id is in use.'],
  matching_id_differs: ['8.2.6', '3.10', 'The order has another matching id.'],
  sm_ds: ['8.9', '5.1', 'This SM-DP+ registers nothing at an SM-DS.'],
  busy: ['8.8', '4.2', 'Too many calls; try again later.'],
  unavailable: ['8.8', '4.2', 'This SM-DP+ cannot do that now; try again later.'],
}

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
