import { type Route, unsupportedMediaType } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'
import { hasBody, readBody, refuseAnnounced, streamBody } from './body.ts'
import { parseJson } from './json-text.ts'
import type { RequestContext } from './request-context.ts'

const JSON_TYPE = 'application/json'

/**
 * Gives `context.body` its value and kind, by media type:
 *
 * - `json`: the parsed value, checked against the route's schema later.
 * - `text` (`text/*` that the route consumes): the text.
 * - `bytes` (a route with `rawBody`): the octets, checked by the handler.
 * - `stream` (anything else that the route consumes): the bytes as they come, `AsyncIterable<Uint8Array>`.
 *
 * Throws `unsupported_media_type`, `body_too_large`, `malformed_json`, `request_timeout`.
 */
export async function takeBody(context: RequestContext, endpoint: Endpoint): Promise<void> {
  if (!hasBody(context)) return
  const type = mediaTypeOf(context, endpoint.route)
  const kind = endpoint.route.rawBody === true ? 'bytes' : kindOf(type)
  refuseAnnounced(context, endpoint.bodyLimit)
  if (kind === 'stream') {
    context.body = streamBody(context, endpoint.bodyLimit)
    context.bodyKind = kind
    return
  }
  const bytes = context.bodyBytes ?? (await readBody(context, endpoint.bodyLimit))
  if (bytes.length === 0) return
  context.bodyBytes = bytes
  context.body = kind === 'bytes' ? bytes : kind === 'json' ? parseJson(bytes) : bytes.toString('utf8')
  context.bodyKind = kind
}

/** Gives `context.body` its value where the route refuses nothing of this request: see `Route.unrefusable`. Says whether it did. */
export async function takeUnrefusable(context: RequestContext, endpoint: Endpoint): Promise<boolean> {
  const { unrefusable } = endpoint.route
  if (unrefusable === undefined) return false
  if (unrefusable === true) {
    context.body = {}
    return true
  }
  if (!hasBody(context)) return false
  refuseAnnounced(context, endpoint.bodyLimit)
  context.bodyBytes = await readBody(context, endpoint.bodyLimit)
  const body = unrefusable(context.bodyBytes)
  if (body === undefined) return false
  context.body = body
  return true
}

function kindOf(type: string): 'json' | 'text' | 'stream' {
  if (type.endsWith('json')) return 'json'
  return type.startsWith('text/') ? 'text' : 'stream'
}

function mediaTypeOf(context: RequestContext, route: Route): string {
  const { headers } = context.incoming
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupportedMediaType('with a content-encoding', acceptedTypes(route))
  }
  const given = headers['content-type']
  if (given === undefined) throw unsupportedMediaType('(none given)', acceptedTypes(route))
  // What nearly all of them say.
  if (given === JSON_TYPE && takesJson(route)) return given
  const type = essence(given)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(given)?.[1]?.toLowerCase()
  if (!typesOf(route).includes(type) || (charset !== undefined && charset !== 'utf-8')) {
    throw unsupportedMediaType(given.slice(0, 100), acceptedTypes(route))
  }
  return type
}

/** The media types that a route takes, in words. */
export function acceptedTypes(route: Route): string {
  return typesOf(route).join(' or ')
}

function typesOf(route: Route): readonly string[] {
  return [...(takesJson(route) ? [JSON_TYPE] : []), ...(route.consumes ?? [])]
}

function takesJson(route: Route): boolean {
  return route.schema?.body !== undefined || route.consumes === undefined
}

function essence(contentType: string): string {
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}
