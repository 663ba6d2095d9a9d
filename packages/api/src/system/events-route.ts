import {
  type Log,
  notReady,
  overLimit,
  type Route,
  rateLimited,
  route,
  validationFailed,
} from '@steeple/contracts'
import type { Outbox, OutboxEvent } from '@steeple/kernel'
import type { EdgeCore } from '../edge-core.ts'
import type { RequestContext } from '../pipeline/request-context.ts'

/** Events kept in memory for streams that are up to date; older ones are read from the store. */
const RECENT_EVENTS = 512
/** Events read at a time. */
const BATCH = 256

/** Part of the stream of events after a position. */
interface EventBatch {
  readonly events: readonly OutboxEvent[]
  /** When events after the position were swept: the newest that is gone. */
  readonly gapUntil: number | undefined
}

/** Reads the outbox once for all streams. */
interface EventHub {
  /** The newest position. */
  head(): Promise<number>
  /** At most 256 events after `id`, oldest first. */
  after(id: number): Promise<EventBatch>
  /** Resolves when there may be more, after `withinMs`, or when the signal aborts. */
  wait(withinMs: number, signal: AbortSignal): Promise<void>
  /** Follows the outbox from now until the returned function is called. */
  follow(): () => void
}

/** A hub that reads nothing while nobody follows. */
function createEventHub(outbox: Outbox, log: Log, shutdown: AbortSignal): EventHub {
  const waiting = new Set<() => void>()
  let recent: OutboxEvent[] = []
  let followers = 0
  let isReading = false
  let isStale = false

  const wakeAll = (): void => {
    for (const wake of [...waiting]) wake()
  }
  const readOn = async (): Promise<void> => {
    const last = recent.at(-1)?.id ?? (await outbox.lastId()) - 1
    const batch = await outbox.after(Math.max(0, last), BATCH)
    if (batch.length === 0) return
    for (const { id } of batch.filter((event) => event.isLost === true)) {
      log.error({ event: id }, 'event is damaged in the store; streams get a gap in its place')
    }
    recent = [...recent, ...batch].slice(-RECENT_EVENTS)
    isStale ||= batch.length === BATCH
    wakeAll()
  }
  const refresh = async (): Promise<void> => {
    isStale = true
    if (isReading || followers === 0) return
    isReading = true
    try {
      while (isStale && followers > 0) {
        isStale = false
        await readOn()
      }
    } catch (error) {
      log.warn({ err: error }, 'event stream could not read the outbox')
    } finally {
      isReading = false
    }
  }
  outbox.onCommit(() => void refresh(), shutdown)

  return {
    head: () => outbox.lastId(),
    after: async (id) => {
      const oldest = recent[0]?.id
      if (oldest !== undefined && id >= oldest - 1) {
        return { events: recent.filter((event) => event.id > id).slice(0, BATCH), gapUntil: undefined }
      }
      const events = await outbox.after(id, BATCH)
      // Asked after the read: what was swept between the two is then reported and not lost silently.
      const floor = await outbox.floorId()
      return floor > id
        ? { events: events.filter((event) => event.id > floor), gapUntil: floor }
        : { events, gapUntil: undefined }
    },
    wait: (withinMs, signal) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(() => wake(), withinMs)
      const wake = (): void => {
        clearTimeout(timer)
        waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
      return promise
    },
    follow: () => {
      followers += 1
      void refresh()
      return () => {
        followers -= 1
        if (followers === 0) recent = []
      }
    },
  }
}

/** Milliseconds that a client is asked to wait before it connects again. */
const RETRY_MS = 2_000
/** Between two looks at a credential that is over, should nobody be able to say so. */
const LEAST_WAIT_MS = 50
/** One of so many streams is kept for administrators. */
const RESERVED_PART = 8
/** Who lets whom in: told to those who may read it in the audit trail, and to whom it is about. */
const OF_PEOPLE = /^(auth|token|user|plugin\.secret)\./
/** By which credentials end: of people, tokens, passkeys, operators' and nodes' certificates. */
const OF_ACCESS = /^(auth|token|user|passkey|mesh|node)\./

/**
 * The events after `from` (the newest when undefined) as server-sent events, until the client leaves, its credential
 * is revoked or the service stops. One batch at a time is in memory, whatever the client's pace.
 *
 * Source: WHATWG HTML, "Server-sent events", the event stream format.
 */
async function* eventStream(
  core: EdgeCore,
  hub: EventHub,
  context: RequestContext,
  from: number | undefined,
): AsyncGenerator<string> {
  const { limits, metrics } = core
  const reserved = context.principal.roles.has('admin') ? 0 : Math.floor(limits.eventStreams / RESERVED_PART)
  const most = limits.eventStreams - reserved
  if (metrics.eventStreams >= most) {
    throw notReady(`all ${most} event streams are in use; close one or try again later`, { retryAfterS: 5 })
  }
  const owner = `${context.principal.kind}:${context.principal.id}`
  const own = core.streams.get(owner) ?? 0
  if (own >= limits.eventStreamsEach) {
    throw overLimit(`${own} event streams of yours are open; close one`, {
      name: 'event_streams',
      limit: limits.eventStreamsEach,
      resetS: RETRY_MS / 1_000,
      windowS: RETRY_MS / 1_000,
    })
  }
  core.streams.set(owner, own + 1)
  metrics.eventStreams += 1
  const unfollow = hub.follow()
  try {
    const newest = await hub.head()
    // Who listens from now on goes on from here when the connection is lost before the first event.
    yield `retry: ${RETRY_MS}\n${from === undefined ? `id: ${newest}\n` : ''}\n`
    // A client that has seen more than there is comes from before a restore.
    if (from !== undefined && from > newest) yield gapFrame(from, newest)
    yield* follow(core, hub, context, Math.min(from ?? newest, newest))
  } finally {
    unfollow()
    metrics.eventStreams -= 1
    const left = (core.streams.get(owner) ?? 1) - 1
    if (left > 0) core.streams.set(owner, left)
    else core.streams.delete(owner)
  }
}

async function* follow(
  core: EdgeCore,
  hub: EventHub,
  context: RequestContext,
  from: number,
): AsyncGenerator<string> {
  const { limits, kernel } = core
  let position = from
  let checkedMs = kernel.clock.monotonicMs()
  let spokenMs = checkedMs
  while (!context.signal.aborted) {
    const nowMs = kernel.clock.monotonicMs()
    const batch = await hub.after(position)
    // Behind the read: what was committed after a credential had ended is not sent to it.
    if (nowMs - checkedMs >= limits.recheckMs || mayEnd(batch) || isOver(core, context)) {
      if (!(await context.stillAllowed())) return
      checkedMs = nowMs
    }
    const text = batchText(position, {
      ...batch,
      events: batch.events.filter((event) => maySee(context, event)),
    })
    position = batch.events.at(-1)?.id ?? batch.gapUntil ?? position
    if (text !== '' || nowMs - spokenMs >= limits.heartbeatMs) {
      yield text === '' ? ': still here\n\n' : text
      spokenMs = nowMs
    } else {
      await hub.wait(Math.min(limits.heartbeatMs, limits.recheckMs, leftMs(core, context)), context.signal)
    }
  }
}

/** Whether something has happened by which a credential may have ended, here or at another instance. */
function mayEnd({ events, gapUntil }: EventBatch): boolean {
  return gapUntil !== undefined || events.some(({ type, isLost }) => isLost === true || OF_ACCESS.test(type))
}

function isOver({ kernel }: EdgeCore, { principal: { expiresAtMs } }: RequestContext): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= kernel.clock.nowMs()
}

/** Until the credential ends by itself. */
function leftMs({ kernel }: EdgeCore, { principal: { expiresAtMs } }: RequestContext): number {
  return expiresAtMs === undefined
    ? Number.POSITIVE_INFINITY
    : Math.max(LEAST_WAIT_MS, expiresAtMs - kernel.clock.nowMs())
}

/** An event that is hidden leaves no gap: the next one's id is enough to go on from. */
function maySee({ principal }: RequestContext, { type, subject, isLost }: OutboxEvent): boolean {
  if (isLost === true || !OF_PEOPLE.test(type)) return true
  return principal.roles.has('operator') || subject === principal.id
}

function batchText(position: number, { events, gapUntil }: EventBatch): string {
  const gap = gapUntil === undefined ? '' : gapFrame(position, gapUntil)
  return gap + events.map(eventFrame).join('')
}

function eventFrame(event: OutboxEvent): string {
  if (event.isLost === true) return gapFrame(event.id - 1, event.id)
  const { id, type, subject, data } = event
  const at = new Date(event.atMs).toISOString()
  return `id: ${id}\nevent: ${type}\ndata: ${JSON.stringify({ id, at, type, subject, data })}\n\n`
}

/** Tells a client that events between the two ids, the second included, are not there any more: it must read the state afresh. */
function gapFrame(after: number, until: number): string {
  return `id: ${until}\nevent: gap\ndata: ${JSON.stringify({ after, until })}\n\n`
}

/** `GET /v1/events`: state changes as they happen; `Last-Event-ID` resumes. Contract section 3. */
export function eventsRoute(core: EdgeCore): Route {
  const hub = createEventHub(core.kernel.outbox, core.kernel.log, core.shutdown)
  return route({
    method: 'GET',
    path: '/v1/events',
    role: 'viewer',
    summary: 'Get state changes as server-sent events',
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
  throw validationFailed('Last-Event-ID is not an id of this stream; start again without it', {
    details: [{ pointer: '/Last-Event-ID', message: 'must be an id that this stream has sent' }],
  })
}
