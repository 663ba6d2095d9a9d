import {
  type ComponentState,
  type Context,
  healthBoardRef,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'
import { agentStates } from './agent-components.ts'
import { listHeartbeats } from './node-store.ts'

/** At most so many agents are shown: the answer stays bounded in a large mesh. */
const MAX_AGENTS = 200

/** One component as `GET /v1/health` and `GET /v1/status` show it. */
export const COMPONENT_SCHEMA: JsonSchema = objectSchema(
  {
    name: { type: 'string' },
    kind: {
      type: 'string',
      description: 'core, hss, ran, collector, store, feature or peer; more may come.',
    },
    status: { type: 'string', description: 'ok, degraded or down; more may come.' },
    detail: { type: 'string' },
    since: { ...TIMESTAMP_SCHEMA, description: 'Since when the status is what it is.' },
    last_ok_at: NULLABLE_TIMESTAMP_SCHEMA,
  },
  ['name', 'kind', 'status', 'detail', 'since', 'last_ok_at'],
)

/** Everything that is watched: the service and its plugins, then the agents that send heartbeats. */
export async function allComponents(context: Context): Promise<readonly ComponentState[]> {
  const nowMs = context.clock.nowMs()
  const heartbeats = await listHeartbeats(context.db, MAX_AGENTS)
  return [
    ...(await context.use(healthBoardRef).fresh()),
    ...heartbeats.flatMap((heartbeat) => agentStates(heartbeat, nowMs)),
  ]
}

/** `down` when something required is down, `degraded` when anything is not ok, `ok` otherwise. */
export function overallStatus(components: readonly ComponentState[]): 'ok' | 'degraded' | 'down' {
  if (components.some(({ required, status }) => required && status === 'down')) return 'down'
  return components.every(({ status }) => status === 'ok') ? 'ok' : 'degraded'
}

/** A component as answers show it. */
export function componentRecord(component: ComponentState): object {
  const { name, kind, status, detail, sinceMs, lastOkAtMs } = component
  return {
    name,
    kind,
    status,
    detail,
    since: new Date(sinceMs).toISOString(),
    last_ok_at: lastOkAtMs === undefined ? null : new Date(lastOkAtMs).toISOString(),
  }
}
