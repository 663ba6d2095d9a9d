import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { notFound, type Reply, type Route, route } from '@steeple/contracts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { documentReply, type Packed, packDocument } from './packed-document.ts'

/** Everything from this origin and nothing inline; no other host is ever asked. */
const POLICY: string = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
const TEXT = 'text/plain'
const FIRST_PAGE = 'index.html'
/** The page that reads the document of this API, and tries it. */
const API_PAGE = 'api.html'
/** What the site is made of; all else in it is a text. */
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
}

/** The documentation as a site: files of a folder that never change while the service runs. */
interface Site {
  file(path: string): Promise<Packed>
  /** The page that an address without its ending means: `how-to/sims` is `how-to/sims.html`, a folder the first page. */
  pageOf(path: string): string | undefined
}

/**
 * `GET /docs`, what lies below it, and the page of the API at `/v1/docs`: the documentation that this build carries, to anybody. `folder`
 * undefined: it carries none, and each of them answers `not_found`.
 */
export function siteRoutes(folder: string | undefined): readonly Route[] {
  const site = openSite(folder)
  return [
    route({
      method: 'GET',
      path: '/docs',
      role: 'public',
      summary: 'Go to the first page of the documentation',
      description: 'Redirects. The pages are part of the build and need no internet.',
      schema: { status: 302 },
      errors: ['not_found'],
      handle: async () => {
        await site.file(FIRST_PAGE)
        return { status: 302, headers: { Location: `/docs/${FIRST_PAGE}` } }
      },
    }),
    ...(['/docs/:page', '/docs/:folder/:page'] as const).map((path) =>
      route({
        method: 'GET',
        path,
        role: 'public',
        summary: 'A page of the documentation, or what a page loads',
        description: "HTML, styles and pictures of the build's own documentation.",
        produces: [...Object.values(TYPES), TEXT],
        errors: ['not_found'],
        conditional: true,
        redirects: true,
        handle: async (request: RequestContext) => {
          // The path of the route says what there is.
          const { folder, page } = request.params as { readonly folder?: string; readonly page: string }
          const name = folder === undefined && page === '' ? FIRST_PAGE : page
          const wanted = folder === undefined ? name : `${folder}/${name}`
          const meant = site.pageOf(wanted)
          if (meant !== undefined) return { status: 302, headers: { Location: `/docs/${meant}` } }
          return await answer(site, request, wanted)
        },
      }),
    ),
    route({
      method: 'GET',
      path: '/v1/docs',
      role: 'public',
      summary: 'Read and try this API',
      description: 'Part of the build: it needs no other network, and sends requests to this service alone.',
      produces: ['text/html'],
      errors: ['not_found'],
      conditional: true,
      handle: (request: RequestContext) => answer(site, request, API_PAGE),
    }),
  ]
}

async function answer(site: Site, request: RequestContext, path: string): Promise<Reply> {
  return documentReply(request, await site.file(path), {
    'Content-Type': `${TYPES[extname(path)] ?? TEXT}; charset=utf-8`,
    'Content-Security-Policy': POLICY,
  })
}

/** Only what was there when it was opened is ever read, once, and kept compressed: no request names a path. */
function openSite(folder: string | undefined): Site {
  const names = folder === undefined ? [] : filesBelow(folder)
  const packed = new Map<string, Promise<Packed>>()
  return {
    pageOf: (path) => {
      if (names.includes(path)) return undefined
      if (names.includes(`${path}.html`)) return `${path}.html`
      return names.some((name) => name.startsWith(path.replace(/\/?$/, '/'))) ? FIRST_PAGE : undefined
    },
    file: (path) => {
      if (folder === undefined || !names.includes(path)) throw notFound(`/docs/${path}; begin at /docs`)
      const kept = packed.get(path) ?? readFile(join(folder, path)).then(packDocument)
      packed.set(path, kept)
      return kept
    },
  }
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, '/').length))
}
