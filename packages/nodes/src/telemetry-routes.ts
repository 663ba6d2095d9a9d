import { type Context, objectSchema, type Route, route } from '@steeple/contracts'
import { groupedWrites } from './grouped-writes.ts'
import { HEARTBEAT_INTERVAL_MS, takeHeartbeat } from './telemetry.ts'
import { TELEMETRY_BODY, type TelemetryBody } from './telemetry-request.ts'

const ACCEPTED_SCHEMA = objectSchema(
  {
    accepted: { type: 'boolean' },
    next_in_s: { type: 'integer', description: 'Send the next heartbeat after so many seconds.' },
  },
  ['accepted', 'next_in_s'],
)

/** `POST /v1/telemetry`. */
export function telemetryRoutes(context: Context): readonly Route[] {
  const heartbeats = context.metrics.counter('svc_nodes_heartbeats_total', 'Heartbeats taken in', ['state'])
  const write = groupedWrites(context.db)
  return [
    route<unknown, unknown, TelemetryBody>({
      method: 'POST',
      path: '/v1/telemetry',
      role: 'operator',
      nodeToo: true,
      summary: 'Take the heartbeat of an agent',
      description: `A node without a heartbeat for ${(3 * HEARTBEAT_INTERVAL_MS) / 1_000} s is degraded until the next one.`,
      schema: { body: TELEMETRY_BODY, response: ACCEPTED_SCHEMA, status: 202 },
      audit: {
        none: 'a heartbeat is observed state; what it changes is audited as node.degrade and node.recover',
      },
      errors: ['node_not_found'],
      handle: async (request) => {
        const taken = await takeHeartbeat(context, request.body, request.principal, write)
        heartbeats.inc({ state: taken === 'ignored' ? 'ignored' : 'accepted' })
        // What is as before leaves the node as it is.
        if (taken === 'changed') context.enqueue('node', request.body.node_id)
        return { status: 202, body: { accepted: true, next_in_s: HEARTBEAT_INTERVAL_MS / 1_000 } }
      },
    }),
  ]
}
