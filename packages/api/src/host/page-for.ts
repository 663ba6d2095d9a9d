import type { IncomingMessage } from 'node:http'
import type { Endpoint } from './endpoint.ts'

/** Deeper than any page. */
const MOST_SEGMENTS = 6

/**
 * The endpoint that shows pages without a route (`everyPage`), when that is what is asked for: a browser wants a page, and the first
 * segment of its path is none of a route or of a plugin that is known. Undefined for all else, which is answered as not found.
 */
export function pageFor(
  { method, url = '/', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  endpoints: readonly Endpoint[],
  features: readonly { readonly prefix: string }[],
): Endpoint | undefined {
  if (method !== 'GET' || !/(^|,)\s*text\/html\s*(;|,|$)/i.test(headers.accept ?? '')) return undefined
  const endpoint = endpoints.find(({ route }) => route.method === 'GET' && route.everyPage === true)
  if (endpoint === undefined) return undefined
  const segments = url
    .replace(/[?#].*/s, '')
    .split('/')
    .slice(1)
  if (segments.length > MOST_SEGMENTS || segments.some((segment) => segment.includes('.'))) return undefined
  const taken = [...endpoints.map(({ route }) => route.path), ...features.map(({ prefix }) => prefix)]
  return taken.some((path) => path.split('/')[1] === segments[0]) ? undefined : endpoint
}
