import { bodyTooLarge, requestTimeout } from '@steeple/contracts'
import { SMALL_BYTES } from './body-space.ts'
import { ClientLeft } from './client-left.ts'
import { createParts, createWhole, type Gathered } from './gathered.ts'
import type { RequestContext } from './request-context.ts'

/** Whether the request announces a body. */
export function hasBody(context: RequestContext): boolean {
  const { headers } = context.incoming
  if (headers['transfer-encoding'] !== undefined) return true
  const length = headers['content-length']
  return length !== undefined && length !== '0'
}

/** Refuses a body that announces more than `limit` bytes before a byte of it is read. Throws `body_too_large`. */
export function refuseAnnounced(context: RequestContext, limit: number): void {
  if ((announcedBytes(context) ?? 0) > limit) throw bodyTooLarge(limit)
}

/** The size that the request says its body has; undefined when it comes in chunks. */
function announcedBytes({ incoming }: RequestContext): number | undefined {
  const length = incoming.headers['content-length']
  return length === undefined ? undefined : Number(length)
}

/**
 * The whole body. At most `limit` bytes, within the edge's `bodyTimeoutMs`.
 *
 * Throws `body_too_large`, `request_timeout`; `ClientLeft` when the connection ends first.
 */
export async function readBody(context: RequestContext, limit: number): Promise<Buffer> {
  const { core } = context
  const most = announcedBytes(context) ?? limit
  const room = core.bodies.take(context, most, core.limits.bodyTimeoutMs)
  if (room !== undefined) await room
  inviteBody(context)
  return await gather(context, limit, most > SMALL_BYTES ? createWhole(most) : createParts())
}

function gather({ incoming, core }: RequestContext, limit: number, into: Gathered): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  let size = 0
  const timer = setTimeout(() => over(requestTimeout(core.limits.bodyTimeoutMs)), core.limits.bodyTimeoutMs)
  const take = (chunk: Buffer): void => {
    size += chunk.length
    if (size > limit) over(bodyTooLarge(limit))
    else into.add(chunk)
  }
  const end = (): void => over(undefined)
  const left = (): void => over(new ClientLeft('the client left'))
  const over = (error: Error | undefined): void => {
    clearTimeout(timer)
    incoming.off('data', take).off('end', end).off('error', left).off('close', left)
    if (error === undefined) resolve(into.bytes())
    else {
      into.drop()
      reject(error)
    }
  }
  incoming.on('data', take).once('end', end).once('error', left).once('close', left)
  return promise
}

/**
 * The body in pieces as they come, for bodies that are too large to hold. Bounds and errors as `readBody`; a client
 * that pauses for too long loses its connection.
 */
export async function* streamBody(context: RequestContext, limit: number): AsyncGenerator<Uint8Array> {
  const { incoming, core } = context
  inviteBody(context)
  const stall = setTimeout(() => incoming.destroy(), core.limits.bodyTimeoutMs)
  let size = 0
  try {
    // Leaving the loop early must not close the connection: the answer goes out on it.
    for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
      stall.refresh()
      // A request without an encoding gives Buffers.
      const bytes = chunk as Buffer
      size += bytes.length
      if (size > limit) throw bodyTooLarge(limit)
      yield bytes
    }
  } catch (cause) {
    throw incoming.destroyed && !incoming.complete ? new ClientLeft('the client left', { cause }) : cause
  } finally {
    clearTimeout(stall)
  }
}

/** A client that sent `Expect: 100-continue` gets its go-ahead here, after authentication and not before. */
function inviteBody(context: RequestContext): void {
  if (context.incoming.headers.expect !== undefined) context.outgoing.writeContinue()
}
