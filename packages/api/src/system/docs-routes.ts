import { type Route, route } from '@steeple/contracts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { documentReply, type Packed, readDocument } from './packed-document.ts'

/** Everything from this origin and nothing inline; no other host is ever asked. */
export const PAGE_POLICY: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The page and what it loads: path, file, media type. */
const FILES: readonly (readonly [`/${string}`, string, string])[] = [
  ['/v1/docs', 'index.html', 'text/html; charset=utf-8'],
  ['/v1/docs/page.js', 'page.js', 'text/javascript; charset=utf-8'],
  ['/v1/docs/page.css', 'page.css', 'text/css; charset=utf-8'],
  ['/v1/docs/icon.svg', 'icon.svg', 'image/svg+xml'],
]

/** `GET /v1/docs`: the documentation page and the files that it loads. Works without any other network. */
export function docsRoutes(): readonly Route[] {
  return FILES.map(([path, file, type]) => {
    let packed: Packed | undefined
    return route({
      method: 'GET',
      path,
      role: 'public',
      summary:
        path === '/v1/docs'
          ? 'The documentation of this API, to read and try'
          : `${file} of the documentation page`,
      description: 'Part of the build: it needs no other network, and sends requests to this service alone.',
      produces: [type.replace(/;.*/, '')],
      conditional: true,
      handle: async (request: RequestContext) => {
        packed ??= await readDocument(file)
        return documentReply(request, packed, {
          'Content-Type': type,
          'Content-Security-Policy': PAGE_POLICY,
        })
      },
    })
  })
}
