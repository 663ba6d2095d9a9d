import type { IncomingMessage } from 'node:http'
import type { Endpoint } from './endpoint.ts'

/** What addresses of pages look like; none is deeper. */
const ADDRESS = /^(\/[\w~-]+){1,6}$/
/** What looks like another host to some: nothing is ever there, and people are told so by a page. */
const STRAY = /^\/(\/|\\|%5c)/i

/**
 * The endpoint that shows pages without a route (`everyPage`), when that is what is asked for: a browser wants a page, and the first
 * segment of its path is none of a route or of a plugin that is known, or the path begins like another host (`//`). Undefined for
 * all else, which is answered as not found.
 */
export function pageFor(
  { method, url = '/', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  endpoints: readonly Endpoint[],
  features: readonly { readonly prefix: string }[],
): Endpoint | undefined {
  if (method !== 'GET' || !/(^|,)\s*text\/html\s*(;|,|$)/i.test(headers.accept ?? '')) return undefined
  const endpoint = endpoints.find(({ route }) => route.method === 'GET' && route.everyPage === true)
  if (endpoint === undefined) return undefined
  const path = url.replace(/[?#].*/s, '')
  if (STRAY.test(path)) return endpoint
  if (!ADDRESS.test(path)) return undefined
  const [, first] = path.split('/')
  const taken = [...endpoints.map(({ route }) => route.path), ...features.map(({ prefix }) => prefix)]
  return taken.some((one) => one.split('/')[1] === first) ? undefined : endpoint
}
