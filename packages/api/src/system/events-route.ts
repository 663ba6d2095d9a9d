import { type Route, rateLimited, route, validationFailed } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { createEventHub } from './event-hub.ts'
import { eventStream } from './event-stream.ts'

/** `GET /v1/events`: state changes as they happen; `Last-Event-ID` resumes. Contract section 3. */
export function eventsRoute(core: EdgeCore): Route {
  const hub = createEventHub(core.kernel.outbox, core.kernel.log, core.shutdown)
  return route({
    method: 'GET',
    path: '/v1/events',
    role: 'viewer',
    summary: 'State changes as server-sent events',
    description:
      'Each event has an id; send the last one seen as Last-Event-ID to go on from there. An event `gap` says that ' +
      'older events are not kept any more: read the state afresh. Comment lines keep the connection alive. Events about ' +
      'people, their logins and tokens, and secrets of plugins (auth.*, token.*, user.*, plugin.secret.*) go to the role ' +
      'operator, which may read them in the audit trail, and to whom they are about.',
    produces: ['text/event-stream'],
    errors: [rateLimited.code],
    handle: async (request: RequestContext) => ({
      headers: { 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' },
      stream: eventStream(core, hub, request, positionFrom(request.header('last-event-id'))),
    }),
  })
}

function positionFrom(lastEventId: string | undefined): number | undefined {
  if (lastEventId === undefined || lastEventId === '') return undefined
  if (/^[0-9]{1,15}$/.test(lastEventId)) return Number(lastEventId)
  throw validationFailed('Last-Event-ID is not an id of this stream', {
    details: [{ pointer: '/Last-Event-ID', message: 'must be an id that this stream has sent' }],
  })
}
