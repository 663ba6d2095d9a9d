import { DURATION_PATTERN, type JsonSchema, objectSchema, TIMESTAMP_SCHEMA } from '@steeple/contracts'

/** The body of `POST /v1/esim/issue`: one of `imsi_sha256_12`, `batch_id`, or what `POST /v1/sims` takes. */
export interface EsimIssueBody {
  readonly imsi_sha256_12?: string
  readonly batch_id?: string
  readonly confirmation_code?: string
  /** Of the code. */
  readonly expires_in?: string
  /** Of a new SIM. */
  readonly sim_expires_in?: string
  readonly eid?: string
  readonly ci_pkid?: string
  /** Of new SIMs. */
  readonly count?: number
  readonly label?: string
}

const DURATION: JsonSchema = { type: 'string', pattern: DURATION_PATTERN, maxLength: 64 }

/** Schema of that body. `sims`: that of `POST /v1/sims`. */
export function issueBodySchema(sims: JsonSchema): JsonSchema {
  // The service gives the schema of an object.
  // A default would say that a new SIM is asked for.
  const { expires_in: _, ...ofSims } = sims.properties as Readonly<Record<string, JsonSchema>>
  return objectSchema({
    imsi_sha256_12: {
      type: 'string',
      pattern: '^[0-9a-f]{12}$',
      description:
        'A code for this SIM. Without this and without batch_id: for a new SIM, with the other properties.',
    },
    batch_id: {
      type: 'string',
      pattern: '^[a-z0-9-]{1,64}$',
      description:
        'A code for each SIM of this batch or import that has none, at most 500 at a time; remaining says how many are left.',
    },
    confirmation_code: {
      type: 'string',
      pattern: '^[\\x21-\\x7e]{4,64}$',
      writeOnly: true,
      description: 'What the phone asks its user for. Tell it by another way than the code.',
    },
    expires_in: {
      ...DURATION,
      description: 'Until when the code can be used; esim.code_expiry when absent.',
    },
    eid: {
      type: 'string',
      pattern: '^[0-9]{32}$',
      writeOnly: true,
      description: 'The only eUICC that gets the profile. Default: the first one that asks.',
    },
    ci_pkid: {
      type: 'string',
      pattern: '^[0-9a-fA-F]{40}$',
      description:
        'Key identifier of the CI that the eUICC of that EID is of. Needed where certificates of several are in use.',
    },
    ...Object.fromEntries(Object.entries(ofSims).map(([name, { default: __, ...schema }]) => [name, schema])),
    sim_expires_in: { ...DURATION, description: 'Life of a new SIM; as POST /v1/sims when absent.' },
  })
}

const ISSUED: Readonly<Record<string, JsonSchema>> = {
  token: { type: 'string' },
  activation_code: { type: 'string', description: 'LPA:1$<address>$<matching id>. Shown here and by qr.' },
  imsi_sha256_12: { type: 'string' },
  state: { type: 'string', description: 'released; more may come.' },
  confirmation_required: { type: 'boolean' },
  expires_at: TIMESTAMP_SCHEMA,
  iccid_last4: { type: 'string' },
  eid_last4: { type: ['string', 'null'] },
  batch_id: { type: ['string', 'null'] },
}
const NAMES = Object.keys(ISSUED)

/** Schema of the answer: the first code, and all of them where there may be several. */
export const ISSUE_ANSWER: JsonSchema = objectSchema(
  {
    ...ISSUED,
    codes: { type: 'array', items: objectSchema(ISSUED, NAMES) },
    remaining: { type: 'integer', description: 'SIMs of the batch that have no code yet: ask again.' },
  },
  NAMES,
)
