import {
  defineError,
  type ErrorFactory,
  type JsonSchema,
  objectSchema,
  ok,
  type Route,
  recordSchema,
  route,
} from '@steeple/contracts'
import { type AlertParts, WEBHOOK_RESOURCE } from '../parts.ts'
import { backlogs, DELIVERIES, parkedOf } from '../store/delivery-store.ts'
import { failureOf } from '../webhooks/deliver.ts'
import { untakenBy } from '../webhooks/health.ts'
import { messageOf } from '../webhooks/message.ts'
import type { Target } from '../webhooks/target.ts'

/** What a test message may do beside. */
export interface TestBody {
  readonly resend?: boolean
}
interface NamedTestBody extends TestBody {
  readonly webhook: string
}

/** Messages that are sent again at a request. */
const MOST_RESENT = 1_000
const TEXT: JsonSchema = { type: 'string' }
const COUNT: JsonSchema = { type: 'integer' }
const webhookNotFound: ErrorFactory = defineError(
  'webhook_not_found',
  404,
  'there is no receiver %s; use one of: %s',
)
/** What a receiver has not taken: see `untakenBy`. */
export const UNTAKEN: Readonly<Record<string, JsonSchema>> = {
  waiting: { ...COUNT, description: 'Messages that are still to be taken.' },
  parked: { ...COUNT, description: 'Messages that were not taken for a day.' },
  last_error: { type: ['string', 'null'], description: 'Why one of them was not taken.' },
}
const TESTED: Readonly<Record<string, JsonSchema>> = {
  id: { ...TEXT, description: 'webhook-id of the message.' },
  delivered: { type: 'boolean' },
  error: { type: ['string', 'null'], description: 'Why it was not taken.' },
  resent: { ...COUNT, description: 'Parked messages that are sent again.' },
}
export const TEST_SCHEMA: JsonSchema = recordSchema(TESTED)

/** The receivers, and a message to try one. */
export function webhookRoutes(parts: AlertParts): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/v1/alerts/webhooks',
      role: 'viewer',
      summary: 'List the receivers of alerts, and the messages that they have not taken yet',
      description:
        'Deliveries are tried again for 24 hours with growing pauses, then parked. Secrets are not shown.',
      schema: {
        response: recordSchema({
          enabled: { type: 'boolean', description: 'Whether rules are looked at (alerts.enabled).' },
          webhooks: { type: 'array', items: recordSchema({ name: TEXT, ...UNTAKEN }) },
        }),
      },
      handle: async () => ok({ enabled: parts.context.config.enabled, webhooks: await webhooksOf(parts) }),
    }),
    route<unknown, unknown, NamedTestBody>({
      method: 'POST',
      path: '/v1/alerts/webhooks/test',
      role: 'operator',
      summary: 'Send a message of type alert.test to one receiver, once',
      description:
        'The answer says whether it was taken. With resend, messages that were parked are sent again when it was.',
      example: { webhook: 'ops' },
      schema: {
        body: objectSchema({ webhook: { ...TEXT, maxLength: 300 }, resend: { type: 'boolean' } }, [
          'webhook',
        ]),
        response: recordSchema({ webhook: TEXT, ...TESTED }),
      },
      errors: ['webhook_not_found'],
      audit: {
        none: 'It changes nothing of the service: one message goes where the configuration sends alerts.',
      },
      handle: async (request) => ok(await test(parts, request.body, request.signal)),
    }),
  ]
}

async function webhooksOf(parts: AlertParts): Promise<readonly object[]> {
  const all = await backlogs(parts.context.db)
  return await Promise.all(
    (await parts.targets()).map(async ({ name }) => ({
      name,
      ...(await untakenBy(parts, name, all.get(name))),
    })),
  )
}

async function test(parts: AlertParts, body: NamedTestBody, signal: AbortSignal): Promise<object> {
  const targets = await parts.targets()
  const target = targets.find(({ name }) => name === body.webhook)
  if (target === undefined)
    throw webhookNotFound(body.webhook, targets.map(({ name }) => name).join(', ') || 'none')
  return { webhook: target.name, ...(await testOf(parts, target, body, signal)) }
}

/** Sends a message of type `alert.test`, once, and says how it went. */
export async function testOf(
  parts: AlertParts,
  target: Target,
  { resend }: TestBody,
  signal: AbortSignal,
): Promise<object> {
  const atMs = Math.floor(parts.context.clock.nowMs())
  const text = 'A message to try out this receiver: nothing is wrong.'
  const message = messageOf(parts, { type: 'alert.test', atMs, text, data: {} })
  const failure = await failureOf(parts, target, message, signal)
  const isDelivered = failure === undefined
  return {
    id: message.id,
    delivered: isDelivered,
    error: failure?.why ?? null,
    resent: isDelivered && resend === true ? await sendAgain(parts, target.name, atMs) : 0,
  }
}

async function sendAgain({ context }: AlertParts, target: string, nowMs: number): Promise<number> {
  const sent = await context.db.write(async (tx) => {
    const rows = await parkedOf(tx, target, MOST_RESENT)
    for (const row of rows)
      await DELIVERIES.put(tx, {
        ...row,
        state: 'waiting',
        give_up_from_ms: nowMs,
        next_at_ms: nowMs,
        failures: 0,
      })
    return rows.length
  })
  context.enqueue(WEBHOOK_RESOURCE, target)
  return sent
}
