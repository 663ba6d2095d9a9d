import { type Route, unsupportedMediaType } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'
import { hasBody, readBody, refuseAnnounced, streamBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { parseJson } from './json-text.ts'

const JSON_TYPE = 'application/json'

/**
 * Gives `exchange.body` its value and kind, by media type:
 *
 * - `json`: the parsed value, checked against the route's schema later.
 * - `text` (`text/*` that the route consumes): the text.
 * - `stream` (anything else that the route consumes): the bytes as they come, `AsyncIterable<Uint8Array>`.
 *
 * Throws `unsupported_media_type`, `body_too_large`, `malformed_json`, `request_timeout`.
 */
export async function takeBody(exchange: Exchange, endpoint: Endpoint): Promise<void> {
  if (!hasBody(exchange)) return
  const kind = kindOf(mediaTypeOf(exchange, endpoint.route))
  refuseAnnounced(exchange, endpoint.bodyLimit)
  if (kind === 'stream') {
    exchange.body = streamBody(exchange, endpoint.bodyLimit)
    exchange.bodyKind = kind
    return
  }
  const bytes = await readBody(exchange, endpoint.bodyLimit)
  if (bytes.length === 0) return
  exchange.bodyBytes = bytes
  exchange.body = kind === 'json' ? parseJson(bytes) : bytes.toString('utf8')
  exchange.bodyKind = kind
}

function kindOf(type: string): 'json' | 'text' | 'stream' {
  if (type.endsWith('json')) return 'json'
  return type.startsWith('text/') ? 'text' : 'stream'
}

function mediaTypeOf(exchange: Exchange, route: Route): string {
  const { headers } = exchange.incoming
  const accepted = acceptedTypes(route)
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw unsupportedMediaType('with a content-encoding', accepted)
  }
  const given = headers['content-type']
  if (given === undefined) throw unsupportedMediaType('(none given)', accepted)
  const type = essence(given)
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(given)?.[1]?.toLowerCase()
  if (!typesOf(route).includes(type) || (charset !== undefined && charset !== 'utf-8')) {
    throw unsupportedMediaType(given.slice(0, 100), accepted)
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
