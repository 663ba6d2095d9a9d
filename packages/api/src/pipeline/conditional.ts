import { hash } from 'node:crypto'
import { jsonTextOf, type Reply } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'
import type { RequestContext } from './request-context.ts'
import { headerOf, JSON_TYPE } from './respond.ts'

/** Characters of base64url of a tag: 132 bits of a hash. */
const TAG_LENGTH = 22

/** The entity tag of an answer by its content, strong. Source: RFC 9110 §8.8.3. */
export function etagFrom(content: string | Uint8Array): string {
  return `"${hash('sha256', content, 'base64url').slice(0, TAG_LENGTH)}"`
}

/**
 * The answer of a `conditional` route as it goes out: with the tag that it has been given, otherwise with one of its
 * content; 304 without a body when `If-None-Match` names that. Any other answer as it is. Source: RFC 9110 §13.1.2.
 */
export function conditional(context: RequestContext, { route }: Endpoint, reply: Reply): Reply {
  const isMeant = route.method === 'GET' && route.conditional === true
  if (!isMeant || (reply.status ?? 200) !== 200 || reply.stream !== undefined) return reply
  const etag = headerOf(reply, 'etag')
  const tagged = etag === undefined ? withTag(reply) : { reply, etag }
  const known = context.header('if-none-match')
  if (known === undefined || !names(known, tagged.etag)) return tagged.reply
  return { status: 304, headers: { ...withoutBody(reply.headers), ETag: tagged.etag } }
}

/** The text of the body is made here once, and sent as it is. */
function withTag(reply: Reply): { readonly reply: Reply; readonly etag: string } {
  const { body, headers } = reply
  const isText = headerOf(reply, 'content-type') !== undefined && isContent(body)
  const content = isText ? body : (jsonTextOf(body) ?? '')
  const etag = etagFrom(content)
  const type = headerOf(reply, 'content-type') ?? JSON_TYPE
  return {
    etag,
    reply: { ...reply, body: content, headers: { ...headers, 'Content-Type': type, ETag: etag } },
  }
}

function isContent(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}

/** Weak or strong, and bare: what one of our tags names never has two contents. */
function names(header: string, etag: string): boolean {
  const own = bare(etag)
  return header.split(',').some((part) => {
    const tag = part.trim()
    return tag === '*' || bare(tag) === own
  })
}

function bare(tag: string): string {
  return tag.replace(/^W\//, '').replace(/^"(.*)"$/, '$1')
}

/** No tag of its own, and neither type nor coding of a body that there is not. RFC 9110 §15.4.5. */
function withoutBody(headers: Reply['headers']): Reply['headers'] {
  const kept = Object.entries(headers ?? {}).filter(
    ([name]) => !['etag', 'content-type', 'content-encoding'].includes(name.toLowerCase()),
  )
  return Object.fromEntries(kept)
}
