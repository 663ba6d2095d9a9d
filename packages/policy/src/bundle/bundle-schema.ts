import {
  CORE_OUTLOOK_SCHEMA,
  DEFAULT_RATE_LIMITS,
  isRecord,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  type PolicyBundle,
  recordSchema,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'

/** The part of the bundle that is stored as one document: all but its revision and time. */
export type PolicyContent = Omit<PolicyBundle, 'revision' | 'updated_at'>

/** The policy of a new node: the specification's defaults, nothing allowed on air, APNs of the configuration. */
export function defaultContent(apns: readonly string[]): PolicyContent {
  return {
    retention_days: { sessions: 30, audit: 400, metrics: 90 },
    rate_limits: {
      sim_issue_per_hour: DEFAULT_RATE_LIMITS.sim_issue,
      sim_revoke_per_hour: DEFAULT_RATE_LIMITS.sim_revoke,
      sim_import_rows_per_hour: DEFAULT_RATE_LIMITS.sim_import_rows,
      spectrum_check_per_hour: DEFAULT_RATE_LIMITS.spectrum_check,
      tx_arm_per_hour: DEFAULT_RATE_LIMITS.tx_arm,
    },
    sim_swap_cooldown_hours: 24,
    mesh: { allow_route_advertise: false },
    apns,
    spectrum: {
      allow_list: [],
      license: {
        acknowledged: false,
        reference: null,
        holder: null,
        expires_at: null,
        acknowledged_by: null,
        acknowledged_at: null,
      },
    },
  }
}

const whole = (minimum: number, maximum: number, description: string): JsonSchema => ({
  type: 'integer',
  minimum,
  maximum,
  description,
})
const days = (of: string): JsonSchema => whole(1, 36_500, `Days that ${of} are kept.`)
const perHour = (of: string, most = 1_000_000): JsonSchema => whole(0, most, `${of} per hour and principal.`)
const nullableText: JsonSchema = { type: ['string', 'null'], maxLength: 200, pattern: PLAIN_TEXT_PATTERN }
/** TS 38.104 §5.4.2.1: the highest NR-ARFCN. */
const channel: JsonSchema = { type: 'integer', minimum: 0, maximum: 3_279_165 }

const mhz: JsonSchema = { type: 'number', exclusiveMinimum: 0, maximum: 100_000 }

const ALLOW_LIST_ENTRY: JsonSchema = objectSchema(
  {
    technology: { type: 'string', enum: ['lte', 'nr'] },
    band: { type: 'string', pattern: '^[bn][1-9][0-9]{0,2}$', description: 'b3, n78.' },
    low_mhz: { ...mhz, description: 'Low edge of the licensed downlink block, as the licence has it.' },
    high_mhz: { ...mhz, description: 'High edge of the licensed downlink block.' },
    earfcn_min: {
      ...channel,
      description:
        'First downlink channel, instead of low_mhz; the low edge of the band when both are absent.',
    },
    earfcn_max: {
      ...channel,
      description:
        'Last downlink channel, instead of high_mhz; the high edge of the band when both are absent.',
    },
    max_eirp_dbm: { type: 'number', minimum: -60, maximum: 90 },
    country: { type: 'string', pattern: '^[A-Z]{2}$', description: 'ISO 3166-1 alpha-2.' },
  },
  ['technology', 'band', 'country'],
)

const LICENSE: JsonSchema = recordSchema({
  acknowledged: { type: 'boolean' },
  reference: nullableText,
  holder: nullableText,
  expires_at: NULLABLE_TIMESTAMP_SCHEMA,
  acknowledged_by: { type: ['string', 'null'], readOnly: true },
  acknowledged_at: { ...NULLABLE_TIMESTAMP_SCHEMA, readOnly: true },
})

const CONTENT: Readonly<Record<string, JsonSchema>> = {
  retention_days: recordSchema({
    sessions: days('sessions'),
    audit: days('audit entries'),
    metrics: days('metrics'),
  }),
  rate_limits: recordSchema({
    sim_issue_per_hour: perHour('SIMs issued'),
    sim_revoke_per_hour: perHour('SIMs revoked'),
    sim_import_rows_per_hour: perHour('Rows of SIM imports', 100_000_000),
    spectrum_check_per_hour: perHour('Spectrum checks'),
    tx_arm_per_hour: perHour('Requests to arm TX'),
  }),
  sim_swap_cooldown_hours: whole(0, 87_600, 'Hours between two SIM swaps of one subscriber.'),
  mesh: recordSchema({ allow_route_advertise: { type: 'boolean' } }),
  apns: {
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 100 },
    minItems: 1,
    maxItems: 16,
    uniqueItems: true,
    description: 'APNs of the network. A core has room for 16; a SIM gets at most 4 of them.',
  },
  spectrum: recordSchema({
    allow_list: { type: 'array', items: ALLOW_LIST_ENTRY, maxItems: 512 },
    license: LICENSE,
  }),
}

/** What of the bundle is stored and may be changed: all but `revision` and `updated_at`. */
export const CONTENT_SCHEMA: JsonSchema = recordSchema(CONTENT)

const HEADER: Readonly<Record<string, JsonSchema>> = {
  revision: { type: 'integer', minimum: 1, readOnly: true },
  updated_at: { ...TIMESTAMP_SCHEMA, readOnly: true },
}

/** The policy bundle as `GET /v1/policy` answers it. */
export const BUNDLE_SCHEMA: JsonSchema = recordSchema({ ...CONTENT, ...HEADER })

/** The bundle after a change; of one that was only tried, also what it would do to the core. */
export const CHANGED_BUNDLE_SCHEMA: JsonSchema = {
  ...BUNDLE_SCHEMA,
  properties: { ...CONTENT, ...HEADER, core: CORE_OUTLOOK_SCHEMA },
}

/** A merge patch of the bundle: every member optional, `null` allowed where RFC 7396 has it mean removal. */
export const BUNDLE_PATCH_SCHEMA: JsonSchema = {
  ...patchOf({ ...BUNDLE_SCHEMA }),
  type: 'object',
  description: 'The changed keys alone (RFC 7396). Arrays are replaced whole. Read-only keys are refused.',
}

function patchOf(schema: JsonSchema): JsonSchema {
  const { required: _required, properties, type, ...rest } = schema
  const types = new Set([type].flat())
  const nullable = { ...rest, type: [...types.add('null')] }
  if (!isRecord(properties)) return nullable
  const members = Object.entries(properties).map(([key, member]) => [key, patchOf(schemaFrom(member))])
  return { ...nullable, properties: Object.fromEntries(members) }
}

function schemaFrom(value: unknown): JsonSchema {
  return isRecord(value) ? value : {}
}
