import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { Outage, OutageBook } from './outages.ts'

const TEXT: JsonSchema = { type: 'string' }
const OUTAGE_SCHEMA = recordSchema({
  id: { ...TEXT, description: 'Of the incident that GET /v1/health showed.' },
  kind: { ...TEXT, description: 'As in GET /v1/health; at its gravest.' },
  severity: { ...TEXT, description: 'warning or critical.' },
  title: TEXT,
  component: { ...TEXT, description: 'The component that was the cause.' },
  box: { type: ['string', 'null'], description: 'What the box is called that it was of; null for this one.' },
  phones_off: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'The most phones that it kept off; null where it kept none off or nobody knew.',
  },
  since: TIMESTAMP_SCHEMA,
  until: { ...NULLABLE_TIMESTAMP_SCHEMA, description: 'Null while it goes on.' },
})

/** `GET /v1/incidents`. */
export function outageRoutes(book: OutageBook): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/incidents',
      role: 'viewer',
      summary: 'List the last outages of this box, newest first, including those that are over',
      description:
        'The last 400, each as one entry from its begin to its end. They are kept in the data directory, and outlast a ' +
        'store that cannot be used.',
      schema: {
        response: objectSchema({ incidents: { type: 'array', items: OUTAGE_SCHEMA } }, ['incidents']),
      },
      conditional: true,
      handle: async () => ok({ incidents: book.all().map(outageRecord) }),
    }),
  ]
}

function outageRecord({ sinceMs, untilMs, phonesOff, box, effects: _, ...outage }: Outage): object {
  return {
    ...outage,
    box: box ?? null,
    phones_off: phonesOff ?? null,
    since: timestampFromMs(sinceMs),
    until: timestampOrNull(untilMs ?? null),
  }
}
