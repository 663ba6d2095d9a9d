import {
  DURATION_PATTERN,
  type JsonSchema,
  NAME_PATTERN,
  objectSchema,
  REACH_FIELDS,
  type ReachWish,
  recordSchema,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'
import { MAX_BPS } from '../config.ts'
import { SIM_SCHEMA } from '../record.ts'

/** The body of `POST /v1/sims`. */
export interface IssueBody {
  readonly count?: number
  readonly profile?: string
  readonly apns?: readonly string[]
  readonly expires_in?: string
  readonly expires_at?: string
  readonly ambr?: { readonly downlink_bps: number; readonly uplink_bps: number }
  readonly quota_bytes?: number
  readonly msin_start?: string
  readonly imsi?: string
  readonly msisdn?: string
  readonly label?: string
  readonly replaces?: string
  readonly reach?: ReachWish['reach']
  readonly boxes?: readonly string[]
}

/** Characters that a label has at most. */
export const LABEL_CHARACTERS = 64
/** A short text without control characters, and not of spaces alone. */
export const NAME_SCHEMA: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: LABEL_CHARACTERS,
  pattern: NAME_PATTERN,
}
/** A rate, bit/s. */
export const BPS_SCHEMA: JsonSchema = { type: 'integer', minimum: 1, maximum: MAX_BPS }
/** APNs of a SIM. */
export const APNS_SCHEMA: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: 4,
  uniqueItems: true,
  items: { type: 'string', minLength: 1, maxLength: 63 },
}

export const ISSUE_BODY: JsonSchema = objectSchema({
  count: { type: 'integer', minimum: 1, maximum: 1000, default: 1 },
  profile: { ...NAME_SCHEMA, description: 'default when absent.' },
  apns: { ...APNS_SCHEMA, description: "Some of the policy's APNs; all of them when absent." },
  expires_in: {
    type: 'string',
    pattern: DURATION_PATTERN,
    maxLength: 64,
    description: 'Such as 30d; 1y when absent.',
  },
  expires_at: TIMESTAMP_SCHEMA,
  ambr: recordSchema({ downlink_bps: BPS_SCHEMA, uplink_bps: BPS_SCHEMA }),
  quota_bytes: { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
  msin_start: {
    type: 'string',
    pattern: '^[0-9]{1,10}$',
    description: 'The first subscriber number; the others follow. Drawn at random when absent.',
  },
  imsi: {
    type: 'string',
    pattern: '^[0-9]{6,15}$',
    writeOnly: true,
    description: 'One SIM with this very IMSI.',
  },
  msisdn: { type: 'string', pattern: '^[0-9]{3,15}$', description: 'Digits without a plus; for one SIM.' },
  label: {
    ...NAME_SCHEMA,
    description:
      'Who or what they are for. Of several SIMs the label of each has its number: village 01 to village 10.',
  },
  replaces: {
    type: 'string',
    pattern: '^[0-9a-f]{12}$',
    description:
      'A SIM swap: this SIM is revoked in the same transaction, and what is not said here is taken from it.',
  },
  ...REACH_FIELDS,
})

export const ISSUE_RESULT: JsonSchema = recordSchema({
  issued: { type: 'integer' },
  output_dir: {
    type: 'string',
    description: 'Directory of the batch on the node; svc sim export unseals it.',
  },
  batch_id: { type: 'string' },
  first: recordSchema({ imsi_sha256_12: { type: 'string' }, expires_at: TIMESTAMP_SCHEMA }),
  sims: { type: 'array', items: SIM_SCHEMA },
})
