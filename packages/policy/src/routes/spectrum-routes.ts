import {
  type Context,
  type JsonSchema,
  objectSchema,
  type Route,
  recordSchema,
  route,
} from '@steeple/contracts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import type { CheckBody } from '../spectrum/asked.ts'
import { type CheckResult, checkAsked } from '../spectrum/check.ts'

const NUMBER: JsonSchema = { type: 'integer', minimum: 0, maximum: 3_279_165 }
const oneOrMore = (items: JsonSchema): JsonSchema => ({
  anyOf: [items, { type: 'array', items, minItems: 1, maxItems: 256 }],
})

const BODY: JsonSchema = objectSchema(
  {
    technology: {
      type: 'string',
      enum: ['lte', 'nr'],
      description: 'Taken from the band or the channel numbers when absent.',
    },
    channels: {
      type: 'array',
      items: NUMBER,
      minItems: 1,
      maxItems: 256,
      description: 'EARFCNs (lte) or NR-ARFCNs (nr), downlink numbers.',
    },
    channel: { ...NUMBER, description: 'One channel.' },
    earfcn: { ...oneOrMore(NUMBER), description: 'Downlink EARFCNs; the technology is LTE.' },
    nr_arfcn: { ...oneOrMore(NUMBER), description: 'NR-ARFCNs; the technology is NR.' },
    frequency_mhz: {
      ...oneOrMore({ type: 'number', exclusiveMinimum: 0, maximum: 100_000 }),
      description: 'Centre frequencies of the downlink; the nearest channels are checked.',
    },
    band: {
      anyOf: [
        { type: 'string', pattern: '^[bn][1-9][0-9]{0,2}$' },
        { type: 'integer', minimum: 1, maximum: 999 },
      ],
      description: 'b3, n78; as a number, the band of the technology.',
    },
    bandwidth_mhz: { type: 'number', exclusiveMinimum: 0, maximum: 2000 },
    country: {
      type: 'string',
      pattern: '^[A-Z]{2}$',
      description:
        "ISO 3166-1 alpha-2; the node's own when absent. Says which entries of the allow-list count.",
    },
  },
  [],
)

const nullableText: JsonSchema = { type: ['string', 'null'] }
const nullableMhz: JsonSchema = { type: ['number', 'null'] }
const gates = ['country-code', 'license', 'allow-list']

const CHANNEL_RESULT: JsonSchema = recordSchema({
  channel: { type: 'integer' },
  bands: { type: 'array', items: { type: 'string' } },
  band: { ...nullableText, description: 'The band of the allow-list entry that covers the carrier.' },
  downlink_mhz: nullableMhz,
  uplink_mhz: nullableMhz,
  allowed: { type: 'boolean' },
  gate: { ...nullableText, enum: [...gates, null] },
  reason: nullableText,
  nearest_channels: {
    type: 'array',
    items: { type: 'integer' },
    description: 'Channels of this width next to it that the allow-list covers; empty when it is covered.',
  },
})

const RESULT: JsonSchema = recordSchema({
  allowed: { type: 'boolean' },
  gate: { type: 'string', enum: [...gates, ''], description: 'The blocking gate; empty when allowed.' },
  reason: { type: 'string' },
  technology: { type: 'string', enum: ['lte', 'nr'], description: 'The one that was checked.' },
  channels_checked: { type: 'integer' },
  results: { type: 'array', items: CHANNEL_RESULT },
})

/** Channels that an audit entry lists; it counts the others. */
const AUDITED_CHANNELS = 16

/** `POST /v1/spectrum/check`. `checked` hears each result. */
export function spectrumRoutes(
  context: Context,
  policy: CurrentPolicy,
  checked: (isAllowed: boolean) => void,
): readonly Route[] {
  return [
    route<unknown, unknown, CheckBody>({
      method: 'POST',
      path: '/v1/spectrum/check',
      role: 'operator',
      example: { technology: 'lte', channels: [1300], bandwidth_mhz: 10 },
      summary: 'Check whether channels may be used here',
      description:
        "Checks the three layers: the node's country, its license, and the allow-list, which must hold the whole " +
        'carrier. Name the channels in one of channels, channel, earfcn, nr_arfcn and frequency_mhz. Changes nothing.',
      schema: { body: BODY, response: RESULT },
      errors: ['validation_failed', 'store_corrupt'],
      audit: 'spectrum.check',
      rateLimit: { name: 'spectrum_check' },
      handle: (request) =>
        request.mutate('spectrum', async (tx) => {
          const { spectrum } = await policy.read(tx)
          const { country } = context.settings.server
          const result = checkAsked(request.body, { country, spectrum, nowMs: context.clock.nowMs() })
          tx.audit({ detail: auditDetail(request.body, result) })
          tx.afterCommit(() => checked(result.allowed))
          return { status: 200, body: result }
        }),
    }),
  ]
}

function auditDetail(
  request: CheckBody,
  { allowed, gate, technology, channels_checked, results }: CheckResult,
): Readonly<Record<string, unknown>> {
  return {
    technology,
    channels: results.slice(0, AUDITED_CHANNELS).map(({ channel }) => channel),
    channels_checked,
    country: request.country ?? null,
    allowed,
    gate,
  }
}
