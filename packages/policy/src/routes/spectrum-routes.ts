import { type Context, type JsonSchema, objectSchema, type Route, route } from '@steeple/contracts'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import { type CheckRequest, checkSpectrum } from '../spectrum/check.ts'

const BODY: JsonSchema = objectSchema(
  {
    technology: { type: 'string', enum: ['lte', 'nr'] },
    channels: {
      type: 'array',
      items: { type: 'integer', minimum: 0, maximum: 3_279_165 },
      minItems: 1,
      maxItems: 256,
      description: 'EARFCNs (lte) or NR-ARFCNs (nr), downlink numbers.',
    },
    band: { type: 'string', pattern: '^[bn][1-9][0-9]{0,2}$', description: 'b3, n78.' },
    bandwidth_mhz: { type: 'number', exclusiveMinimum: 0, maximum: 2000 },
    country: {
      type: 'string',
      pattern: '^[A-Z]{2}$',
      description:
        "ISO 3166-1 alpha-2; the node's own when absent. Says which entries of the allow-list count.",
    },
  },
  ['technology', 'channels'],
)

const nullableText: JsonSchema = { type: ['string', 'null'] }
const nullableMhz: JsonSchema = { type: ['number', 'null'] }
const gates = ['country-code', 'license', 'allow-list']

const CHANNEL_RESULT: JsonSchema = objectSchema(
  {
    channel: { type: 'integer' },
    bands: { type: 'array', items: { type: 'string' } },
    band: { ...nullableText, description: 'The band whose entry in the allow-list covers the carrier.' },
    downlink_mhz: nullableMhz,
    uplink_mhz: nullableMhz,
    allowed: { type: 'boolean' },
    gate: { ...nullableText, enum: [...gates, null] },
    reason: nullableText,
  },
  ['channel', 'bands', 'band', 'downlink_mhz', 'uplink_mhz', 'allowed', 'gate', 'reason'],
)

const RESULT: JsonSchema = objectSchema(
  {
    allowed: { type: 'boolean' },
    gate: { type: 'string', enum: [...gates, ''], description: 'The blocking gate; empty when allowed.' },
    reason: { type: 'string' },
    channels_checked: { type: 'integer' },
    results: { type: 'array', items: CHANNEL_RESULT },
  },
  ['allowed', 'gate', 'reason', 'channels_checked', 'results'],
)

/** Channels that an audit entry lists; it counts the others. */
const AUDITED_CHANNELS = 16

/** `POST /v1/spectrum/check`. `checked` hears each result. */
export function spectrumRoutes(
  context: Context,
  policy: CurrentPolicy,
  checked: (isAllowed: boolean) => void,
): readonly Route[] {
  return [
    route<unknown, unknown, CheckRequest>({
      method: 'POST',
      path: '/v1/spectrum/check',
      role: 'operator',
      example: { technology: 'lte', channels: [1300], bandwidth_mhz: 10 },
      summary: 'Whether channels may be used here',
      description:
        "Checks the three layers: the node's country, its license, and the allow-list, which must hold the whole " +
        'carrier. Changes nothing.',
      schema: { body: BODY, response: RESULT },
      errors: ['validation_failed', 'store_corrupt'],
      audit: 'spectrum.check',
      rateLimit: { name: 'spectrum_check' },
      handle: (request) =>
        request.mutate('spectrum', async (tx) => {
          const { spectrum } = await policy.read(tx)
          const { country } = context.settings.server
          const result = checkSpectrum(request.body, { country, spectrum, nowMs: context.clock.nowMs() })
          tx.audit({ detail: auditDetail(request.body, result.allowed, result.gate) })
          tx.afterCommit(() => checked(result.allowed))
          return { status: 200, body: result }
        }),
    }),
  ]
}

function auditDetail(
  request: CheckRequest,
  allowed: boolean,
  gate: string,
): Readonly<Record<string, unknown>> {
  return {
    technology: request.technology,
    channels: request.channels.slice(0, AUDITED_CHANNELS),
    channels_checked: request.channels.length,
    country: request.country ?? null,
    allowed,
    gate,
  }
}
