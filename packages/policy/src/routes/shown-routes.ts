import { type Context, type JsonSchema, ok, type Route, recordSchema, route } from '@steeple/contracts'
import { downlinkBands, downlinkSpan, mhzFromKhz } from '@steeple/telecom'
import type { CurrentPolicy } from '../bundle/current-policy.ts'
import type { TxControl } from '../tx/tx-control.ts'

const TECHNOLOGY: JsonSchema = { type: 'string', enum: ['lte', 'nr'] }
const NULLABLE_NUMBER: JsonSchema = { type: ['number', 'null'] }
const NULLABLE_CHANNEL: JsonSchema = { type: ['integer', 'null'] }
const MHZ: JsonSchema = { type: 'number' }

const BLOCK: JsonSchema = { ...recordSchema({ low_mhz: MHZ, high_mhz: MHZ }), type: ['object', 'null'] }
/** What becomes of the transmitter when this machine fails. */
export const FALLBACK: JsonSchema = {
  ...recordSchema({
    kind: {
      type: 'string',
      enum: ['off', 'timer', 'none'],
      description:
        'off: it ends with this machine. timer: its switch turns it off within a time. none: it stays on.',
    },
    detail: { type: 'string' },
  }),
  type: ['object', 'null'],
  description: 'What becomes of the transmitter when this machine fails. Null: no radio is configured.',
}
/** A radio profile as it is shown: judged as an arm of it would be. */
export const JUDGED_PROFILE: JsonSchema = recordSchema({
  id: { type: 'string' },
  technology: TECHNOLOGY,
  channel: { type: 'integer', description: 'Downlink EARFCN or NR-ARFCN.' },
  band: { type: ['string', 'null'] },
  bandwidth_mhz: MHZ,
  eirp_dbm: NULLABLE_NUMBER,
  tx_gain_db: NULLABLE_NUMBER,
  rx_gain_db: NULLABLE_NUMBER,
  downlink: BLOCK,
  uplink: { ...BLOCK, description: 'Null where the carrier has none.' },
  armed: { type: 'boolean' },
  source: {
    type: 'string',
    enum: ['file', 'store'],
    description: 'file: it stands in the configuration file, under ran.profiles, and is changed there.',
  },
  closed: {
    type: 'array',
    items: recordSchema({
      gate: { type: 'string', enum: ['country-code', 'license', 'allow-list'] },
      reason: { type: 'string' },
    }),
    description: 'What keeps it off the air now; empty: it may be armed.',
  },
  problems: {
    type: 'array',
    items: { type: 'string' },
    description: 'Why the radio of this box cannot send it, whatever the gate says.',
  },
  fallback: FALLBACK,
})
const RANGE: JsonSchema = recordSchema({
  technology: TECHNOLOGY,
  band: { type: 'string' },
  country: { type: 'string' },
  first_channel: { ...NULLABLE_CHANNEL, description: 'Null: from low_mhz, or the low edge of the band.' },
  last_channel: { ...NULLABLE_CHANNEL, description: 'Null: to high_mhz, or the high edge of the band.' },
  low_mhz: { ...NULLABLE_NUMBER, description: 'Of the downlink; null where the band has none.' },
  high_mhz: NULLABLE_NUMBER,
  band_low_mhz: NULLABLE_NUMBER,
  band_high_mhz: NULLABLE_NUMBER,
  max_eirp_dbm: NULLABLE_NUMBER,
})
const BAND: JsonSchema = recordSchema({
  technology: TECHNOLOGY,
  band: { type: 'string' },
  low_mhz: MHZ,
  high_mhz: MHZ,
})
const BANDS = downlinkBands().map(({ technology, band, lowKhz, highKhz }) => {
  return { technology, band, low_mhz: mhzFromKhz(lowKhz), high_mhz: mhzFromKhz(highKhz) }
})

/** What may be armed here, and where: `GET /v1/tx/profiles`, `GET /v1/spectrum/ranges`. */
export function shownRoutes(context: Context, policy: CurrentPolicy, control: TxControl): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/tx/profiles',
      role: 'viewer',
      summary: 'List the radio profiles, and whether each may be armed',
      description:
        'Those of the configuration file (ran.profiles) and those that were made since, with their frequencies and what ' +
        'keeps each off the air now.',
      schema: { response: recordSchema({ profiles: { type: 'array', items: JUDGED_PROFILE } }) },
      errors: ['store_corrupt'],
      handle: async () => ok({ profiles: await control.profiles() }),
    }),
    route({
      method: 'GET',
      path: '/v1/spectrum/ranges',
      role: 'viewer',
      summary: 'Show the allow-list as frequencies',
      description: 'The entries in their order, for drawing; GET /v1/policy has them as they are changed.',
      schema: {
        response: recordSchema({
          country: { type: 'string', description: "The node's own: entries of others do not count here." },
          ranges: { type: 'array', items: RANGE },
          bands: {
            type: 'array',
            items: BAND,
            description: 'Every band that an entry can name, with its downlink.',
          },
        }),
      },
      errors: ['store_corrupt'],
      handle: async () => {
        const { spectrum } = await policy.refresh()
        const ranges = spectrum.allow_list.map((entry) => {
          const { technology, band, country, earfcn_min: first, earfcn_max: last } = entry
          const range = downlinkSpan(technology, band, first, last)
          const whole = downlinkSpan(technology, band)
          return {
            technology,
            band,
            country,
            first_channel: first ?? null,
            last_channel: last ?? null,
            low_mhz: entry.low_mhz ?? mhzOf(range?.lowKhz),
            high_mhz: entry.high_mhz ?? mhzOf(range?.highKhz),
            band_low_mhz: mhzOf(whole?.lowKhz),
            band_high_mhz: mhzOf(whole?.highKhz),
            max_eirp_dbm: entry.max_eirp_dbm ?? null,
          }
        })
        return ok({ country: context.settings.server.country, ranges, bands: BANDS })
      },
    }),
  ]
}

function mhzOf(khz: number | undefined): number | null {
  return khz === undefined ? null : mhzFromKhz(khz)
}
