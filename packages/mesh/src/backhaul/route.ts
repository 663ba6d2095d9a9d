import {
  type Context,
  objectSchema,
  ok,
  type Route,
  route,
  sumOctets,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
} from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import { newestMonths } from './store.ts'

/** Years back are of the same shape, and nobody pays for them any more. */
const MOST_MONTHS = 120
const SOME_MONTHS = 12
const OCTETS = { type: 'integer', minimum: 0 } as const

const MONTH = objectSchema(
  {
    month: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}$', description: 'By the time zone of the box.' },
    received_bytes: OCTETS,
    sent_bytes: OCTETS,
    total_bytes: OCTETS,
    from: {
      ...TIMESTAMP_SCHEMA,
      description: 'Since when it was counted: later than its first day when it began within it.',
    },
    until: { ...TIMESTAMP_SCHEMA, description: 'When it was last counted.' },
  },
  ['month', 'received_bytes', 'sent_bytes', 'total_bytes', 'from', 'until'],
)
const SCHEMA = objectSchema(
  {
    interfaces: {
      type: 'array',
      items: { type: 'string' },
      description: 'Those that have a default route now and are counted; not that of the mesh.',
    },
    cap_bytes: {
      type: ['integer', 'null'],
      description: 'What may be carried in a month, peering.backhaul_cap_bytes; null when nothing is said.',
    },
    months: {
      type: 'array',
      items: MONTH,
      description: 'Newest first; without those in which nothing was counted.',
    },
  },
  ['interfaces', 'cap_bytes', 'months'],
)

/** `GET /v1/mesh/backhaul`. `names`: interfaces that are counted now. */
export function backhaulRoute(
  { db, config }: Pick<Context<PeeringConfig>, 'db' | 'config'>,
  names: () => readonly string[],
): Route {
  return route<unknown, { readonly months?: number }, unknown>({
    method: 'GET',
    path: '/v1/mesh/backhaul',
    role: 'viewer',
    summary: 'What the way out of this machine has carried, by month',
    description:
      'All octets of the interfaces with a default route, as the kernel counts them each minute: phones, other boxes and the machine itself.',
    schema: {
      query: objectSchema({
        months: { type: 'integer', minimum: 1, maximum: MOST_MONTHS, default: SOME_MONTHS },
      }),
      response: SCHEMA,
    },
    errors: ['store_corrupt'],
    handle: async ({ query: { months = SOME_MONTHS } }) => {
      const rows = await newestMonths(db, months)
      return ok({
        interfaces: names(),
        cap_bytes: config.backhaul_cap_bytes || null,
        months: rows.map((row) => ({
          month: row.month,
          received_bytes: row.received_bytes,
          sent_bytes: row.sent_bytes,
          total_bytes: sumOctets(row.received_bytes, row.sent_bytes),
          from: timestampFromMs(row.from_ms),
          until: timestampFromMs(row.until_ms),
        })),
      })
    },
  })
}
