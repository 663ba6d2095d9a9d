import {
  type Context,
  nodeIdentityRef,
  objectSchema,
  type Route,
  route,
  TIMESTAMP_SCHEMA,
} from '@steeple/contracts'
import type { NodeLifecycle, TransitionResult } from './lifecycle.ts'
import { spelling } from './lifecycle.ts'

interface TransitionBody {
  readonly from: string
  readonly to: string
  readonly force?: boolean
}

const STATE = {
  type: 'string',
  description:
    'provision, register, on-air, peer or breakout; also as GET /v1/status calls it: bootstrap, registered, peered. Any other ' +
    'word is a transition that there is not: 409.',
}
const BODY_SCHEMA = objectSchema(
  {
    from: {
      ...STATE,
      description: `The current state. ${STATE.description} degraded: whatever state lies below it.`,
    },
    to: STATE,
    force: {
      type: 'boolean',
      default: false,
      description: 'Skips mesh prerequisites and nothing else; needs admin. No force passes the TX gate.',
    },
  },
  ['from', 'to'],
)
const RESULT_SCHEMA = objectSchema(
  {
    node_id: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    at: TIMESTAMP_SCHEMA,
    forced: { type: 'boolean', description: 'Whether a missing prerequisite was skipped.' },
  },
  ['node_id', 'from', 'to', 'at', 'forced'],
)

/** `POST /v1/lifecycle/transition`. */
export function lifecycleRoutes(context: Context, lifecycle: NodeLifecycle): readonly Route[] {
  return [
    route<unknown, unknown, TransitionBody>({
      method: 'POST',
      path: '/v1/lifecycle/transition',
      role: 'operator',
      example: { from: 'provision', to: 'register' },
      summary: 'Move this node to another lifecycle state',
      description:
        'Each move checks its prerequisites; force skips those of the mesh, never the TX gate. A move that the table lacks is 409 invalid_transition.',
      schema: { body: BODY_SCHEMA, response: RESULT_SCHEMA },
      audit: 'lifecycle.transition',
      errors: ['invalid_transition'],
      handle: async (request) => {
        const move = await lifecycle.prepare({ force: false, ...request.body }, request.principal)
        return request.mutate(context.use(nodeIdentityRef).nodeId, async (tx) => {
          const result = resultRecord(await move(tx))
          const { from, to, forced } = result
          tx.audit({ detail: { from, to, forced } })
          tx.event({ type: 'lifecycle.transition', subject: result.node_id, data: { from, to, forced } })
          return { body: result }
        })
      },
    }),
  ]
}

function resultRecord(result: TransitionResult) {
  return {
    node_id: result.nodeId,
    from: spelling(result.from),
    to: spelling(result.to),
    at: new Date(result.atMs).toISOString(),
    forced: result.isForced,
  }
}
