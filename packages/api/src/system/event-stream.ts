import { notReady } from '@steeple/contracts'
import type { OutboxEvent } from '@steeple/kernel'
import type { EdgeCore } from '../edge-core.ts'
import { overLimit } from '../pipeline/over-limit.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import type { EventBatch, EventHub } from './event-hub.ts'

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
export async function* eventStream(
  core: EdgeCore,
  hub: EventHub,
  context: RequestContext,
  from: number | undefined,
): AsyncGenerator<string> {
  const { limits, metrics } = core
  const reserved = context.principal.roles.has('admin') ? 0 : Math.floor(limits.eventStreams / RESERVED_PART)
  const most = limits.eventStreams - reserved
  if (metrics.eventStreams >= most) {
    throw notReady(`all ${most} event streams are in use`, { retryAfterS: 5 })
  }
  const owner = `${context.principal.kind}:${context.principal.id}`
  const own = core.streams.get(owner) ?? 0
  if (own >= limits.eventStreamsEach) {
    throw overLimit(`${own} event streams of yours are open; close one`, {
      name: 'event_streams',
      limit: limits.eventStreamsEach,
      remaining: 0,
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
