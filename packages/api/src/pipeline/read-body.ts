import { isUtf8 } from 'node:buffer'
import {
  bodyTooLarge,
  freeOctets,
  malformedJson,
  type Route,
  requestTimeout,
  unsupportedMediaType,
} from '@steeple/contracts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptedTypes, type Endpoint, mediaTypesOf } from '../host/endpoint.ts'
import { admitAgain } from './authenticate.ts'
import { ClientLeft, SMALL_BYTES } from './body-space.ts'
import { type Concern, concern, type Handler } from './concern.ts'
import { answerEachTime } from './idempotency.ts'
import type { RequestContext } from './request-context.ts'

/** Cheap sign that a text may spell one of the names below, escapes included. */
const SUSPICIOUS = /__proto__|constructor|\\u/

/**
 * The value of a JSON text.
 *
 * Refuses what is not UTF-8, and any object that names `__proto__` or a `constructor` with a `prototype`: copied
 * into a plain object by anyone later, these would change every object. Throws `malformed_json`.
 */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw malformedJson('it is not UTF-8')
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    // V8's message quotes the text, which may hold a secret: only the position is passed on.
    const position = /at position (\d+)/.exec(cause instanceof Error ? cause.message : '')?.[1]
    throw malformedJson(
      position === undefined ? 'it ends too early or is misspelt' : `see byte ${position}`,
      {
        cause: 'not JSON',
      },
    )
  }
  if (SUSPICIOUS.test(text)) refusePollution(value)
  return value
}

function refusePollution(root: unknown): void {
  // A stack of our own: a body may nest deeper than the call stack allows.
  const pending: unknown[] = [root]
  while (pending.length > 0) {
    const value = pending.pop()
    if (typeof value !== 'object' || value === null) continue
    if (Object.hasOwn(value, '__proto__')) throw malformedJson('the property __proto__ is not accepted')
    const constructed = Object.getOwnPropertyDescriptor(value, 'constructor')?.value
    if (typeof constructed === 'object' && constructed !== null && Object.hasOwn(constructed, 'prototype')) {
      throw malformedJson('the property constructor.prototype is not accepted')
    }
    for (const member of Object.values(value)) pending.push(member)
  }
}

/** A refused body up to this size is explained in full; of a larger one the first broken rule is told. */
const EXPLAINED_BYTES = 65_536
/** Bodies above that size. */
export const largeBodies: WeakSet<object> = new WeakSet<object>()

/**
 * The body as the handler gets it: the parsed value of JSON, the text of `text/*`, the octets for a route with `rawBody`, and the octets
 * as they come (`AsyncIterable<Uint8Array>`) of any other media type that the route consumes. Undefined when there is none.
 *
 * Throws `unsupported_media_type`, `body_too_large`, `malformed_json`, `request_timeout`.
 */
async function takeBody(context: RequestContext, endpoint: Endpoint): Promise<unknown> {
  if (!hasBody(context)) return undefined
  const type = mediaTypeOf(context, endpoint.route)
  const isRaw = endpoint.route.rawBody === true
  refuseAnnounced(context, endpoint.bodyLimit)
  if (!isRaw && !isText(type)) return streamBody(context, endpoint.bodyLimit)
  const bytes = context.bodyBytes ?? (await readBody(context, endpoint.bodyLimit))
  if (bytes.length === 0) return undefined
  context.bodyBytes = bytes
  if (isRaw) return bytes
  if (!type.endsWith('json')) return bytes.toString('utf8')
  const value = parseJson(bytes)
  if (bytes.length > EXPLAINED_BYTES) largeBodies.add(Object(value))
  return value
}

/** What the route takes for a body whatever came, since it refuses nothing of this request: see `Route.unrefusable`. Undefined: it may refuse. */
async function unrefusableBody(context: RequestContext, { route, bodyLimit }: Endpoint): Promise<unknown> {
  const { unrefusable } = route
  if (typeof unrefusable !== 'function') return {}
  if (!hasBody(context)) return undefined
  refuseAnnounced(context, bodyLimit)
  context.bodyBytes = await readBody(context, bodyLimit)
  return unrefusable(context.bodyBytes)
}

/** Reads the bodies of routes that change something. */
export const body: Concern = concern('body', ['admission'], (app) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async ({ context }: FastifyRequest) => {
    const { endpoint } = context
    return endpoint?.isMutating === true ? await takeBody(context, endpoint) : undefined
  })
  app.addHook('preParsing', ({ context }, _reply, _payload, done) => {
    const { endpoint } = context
    context.isUnderCheck = endpoint?.isMutating === true && endpoint.route.unrefusable === undefined
    done()
  })
  app.addHook('onRoute', (route) => {
    const endpoint = route.config?.endpoint
    if (endpoint?.route.unrefusable === undefined) return
    // Those of routes are `handle` of pipeline.ts.
    const run = route.handler as Handler
    route.preParsing = async (request: FastifyRequest, reply: FastifyReply) => {
      const { context } = request
      const heeded = await unrefusableBody(context, endpoint)
      context.isUnderCheck = heeded === undefined
      if (heeded === undefined) return undefined
      request.body = heeded
      await admitAgain(context, endpoint)
      // No parser, no check and no handler of fastify's is asked about it any more, whether it was answered or its client has left.
      await reply.send(await answerEachTime(context, endpoint, () => run(request)))
      throw new ClientLeft('the client left')
    }
  })
})

/** JSON is text, too. */
function isText(type: string): boolean {
  return type.endsWith('json') || type.startsWith('text/')
}

function mediaTypeOf(context: RequestContext, route: Route): string {
  const { headers } = context.incoming
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupportedMediaType('with a content-encoding', acceptedTypes(route))
  }
  const given = headers['content-type']
  if (given === undefined) throw unsupportedMediaType('(none given)', acceptedTypes(route))
  const type = essence(given)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(given)?.[1]?.toLowerCase()
  if (!mediaTypesOf(route).includes(type) || (charset !== undefined && charset !== 'utf-8')) {
    throw unsupportedMediaType(given.slice(0, 100), acceptedTypes(route))
  }
  return type
}

function essence(contentType: string): string {
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

/** Whether the request announces a body. */
function hasBody(context: RequestContext): boolean {
  const { headers } = context.incoming
  if (headers['transfer-encoding'] !== undefined) return true
  const length = headers['content-length']
  return length !== undefined && length !== '0'
}

/** Refuses a body that announces more than `limit` bytes before a byte of it is read. Throws `body_too_large`. */
function refuseAnnounced(context: RequestContext, limit: number): void {
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
async function readBody(context: RequestContext, limit: number): Promise<Buffer> {
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
async function* streamBody(context: RequestContext, limit: number): AsyncGenerator<Uint8Array> {
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
  if (context.incoming.headers.expect !== undefined) {
    context.outgoing.writeContinue()
    context.isInvited = true
  }
}

/** What has come of a body. */
interface Gathered {
  add(chunk: Buffer): void
  bytes(): Buffer
  /** Nobody wants it. */
  drop(): void
}

/** For a small body, which mostly comes in one piece. */
function createParts(): Gathered {
  const chunks: Buffer[] = []
  return {
    add: (chunk) => {
      chunks.push(chunk)
    },
    bytes: () => (chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)),
    drop: () => undefined,
  }
}

/**
 * For a large body of at most `most` octets: it is held once, and not in pieces as well. Memory that nothing was written to
 * takes none, and a piece that was copied is given back at once: a collection of garbage may be far.
 */
function createWhole(most: number): Gathered {
  const whole = Buffer.allocUnsafeSlow(most)
  let size = 0
  return {
    add: (chunk) => {
      size += chunk.copy(whole, size)
      freeOctets(chunk)
    },
    bytes: () => whole.subarray(0, size),
    drop: () => freeOctets(whole),
  }
}
