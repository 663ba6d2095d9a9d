import {
  type ErrorDetail,
  fieldsRefused,
  type JsonSchema,
  type LifecycleState,
  type NodeReport,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  recordSchema,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'

/** One component as an agent reports it. */
interface ReportedComponent {
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'down'
  readonly detail?: string
}

const STATES: readonly LifecycleState[] = ['provision', 'register', 'on_air', 'peer', 'breakout']

/** The body of `POST /v1/telemetry`. */
export interface TelemetryBody {
  readonly node_id: string
  readonly at: string
  readonly seq: number
  readonly components: readonly ReportedComponent[]
  readonly counters?: Readonly<Record<string, number>>
  readonly versions?: Readonly<Record<string, string>>
  readonly node?: NodeReport
}

const MAX_COMPONENTS = 32
const MAX_COUNTERS = 64
const MAX_DETAIL_LENGTH = 256
const NAME_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$'

const COUNT: JsonSchema = { type: ['integer', 'null'], minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const SHORT: JsonSchema = { type: 'string', maxLength: 64, pattern: PLAIN_TEXT_PATTERN }
const MOST_INCIDENTS = 16

/** What of a node stands in its heartbeats and in the list of nodes alike. Null: not known. */
export const FACTS: Readonly<Record<string, JsonSchema>> = {
  radio_connected: { type: ['boolean', 'null'], description: 'Whether a base station is connected there.' },
  channel: {
    ...SHORT,
    type: ['string', 'null'],
    description: 'Technology and channel (EARFCN or NR-ARFCN) that TX is armed for: lte 1575.',
  },
  phones: { ...COUNT, description: 'Phones that are on.' },
  sims: { ...COUNT, description: 'SIMs that are issued, in use or suspended.' },
  octets_today: { ...COUNT, description: 'Both directions, since midnight in its time zone.' },
  backlog: { ...COUNT, description: 'Changes of SIMs that its HSS does not have yet.' },
  incidents: {
    type: 'array',
    maxItems: MOST_INCIDENTS,
    items: recordSchema({ kind: SHORT, severity: SHORT, title: SHORT, since: TIMESTAMP_SCHEMA }),
    description: 'Its outages, the gravest first.',
  },
}

/** Schema of the body of `POST /v1/telemetry`. Everything in it is bounded: it is stored and shown. */
export const TELEMETRY_BODY: JsonSchema = objectSchema(
  {
    node_id: { type: 'string', minLength: 1, maxLength: 64, pattern: PLAIN_TEXT_PATTERN },
    at: { ...TIMESTAMP_SCHEMA, description: 'When the agent sent it, by its own clock.' },
    seq: {
      type: 'integer',
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      description:
        'Grows with every heartbeat, over restarts of the agent too (ms since the epoch does). An older or equal one is accepted and ignored.',
    },
    components: {
      type: 'array',
      maxItems: MAX_COMPONENTS,
      items: objectSchema(
        {
          name: { type: 'string', pattern: NAME_PATTERN },
          status: { type: 'string', enum: ['ok', 'degraded', 'down'] },
          detail: { type: 'string', maxLength: MAX_DETAIL_LENGTH, pattern: PLAIN_TEXT_PATTERN },
        },
        ['name', 'status'],
      ),
    },
    counters: {
      type: 'object',
      maxProperties: MAX_COUNTERS,
      propertyNames: { type: 'string', pattern: NAME_PATTERN },
      additionalProperties: { type: 'number' },
    },
    versions: {
      type: 'object',
      maxProperties: MAX_COMPONENTS,
      propertyNames: { type: 'string', pattern: NAME_PATTERN },
      additionalProperties: { type: 'string', maxLength: 64, pattern: PLAIN_TEXT_PATTERN },
    },
    node: {
      ...objectSchema(
        {
          lifecycle: { type: 'string', enum: STATES },
          plmn: { type: 'string', pattern: '^[0-9]{3}-[0-9]{2,3}$', description: 'MCC-MNC.' },
          on_air: { type: ['boolean', 'null'], description: 'Whether TX is armed there.' },
          ...FACTS,
        },
        ['lifecycle', 'plmn', 'on_air'],
      ),
      description: 'How the node itself is: what the list of nodes shows of it.',
    },
  },
  ['node_id', 'at', 'seq', 'components'],
)

/** ms since the epoch of the sender's time. Throws `validation_failed` for a time that is none or a name given twice. */
export function sentAtMs(body: TelemetryBody): number {
  const details: ErrorDetail[] = []
  const atMs = Date.parse(body.at)
  if (Number.isNaN(atMs)) details.push({ pointer: '/at', message: 'must be an RFC 3339 timestamp' })
  const names = new Set<string>()
  body.components.forEach(({ name }, index) => {
    if (names.has(name)) details.push({ pointer: `/components/${index}/name`, message: 'is there twice' })
    names.add(name)
  })
  if (details.length > 0) throw fieldsRefused(details)
  return atMs
}
