import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { notFound } from './error-catalogue.ts'
import { objectSchema } from './json-schema.ts'
import { type Reply, type Request, type Route, route } from './route.ts'

/** Files of a page that never change while the plugin runs, as its build has left them. */
export interface StaticFiles {
  /** The folder with all of them, nothing in folders below it. `<name>.br` and `<name>.gz` are a file compressed. */
  readonly folder: string
  /** What the paths of the files begin with, `/pages`: each file is served at `/pages/<name>`. */
  readonly prefix: `/${string}`
  /** What the files are, for the documentation of the API. */
  readonly summary: string
  readonly description?: string
  /** Where the documentation groups the routes. */
  readonly group?: string
  /** The page itself: its file, the path at which it is served, and whether pages without a route of their own are it too. */
  readonly page?: {
    readonly file: string
    readonly path: `/${string}`
    readonly summary: string
    readonly description?: string
    readonly everyPage?: boolean
  }
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.webmanifest': 'application/manifest+json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}
const OTHER_TYPE = 'application/octet-stream'
/** `main.0a1b2c3d.js`: another content has another name, so it may be kept for good. */
const HASHED = /\.[0-9a-f]{8,}\.[a-z0-9]+$/
const FOR_GOOD = 'public, max-age=31536000, immutable'
/** Everything from this origin, nothing inline, nothing evaluated, in nobody's frame. CSP Level 3. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

/** Filters of a page are in its address, and its own affair; credentials are not, since addresses get into logs. */
const FILTERS = { type: 'object', propertyNames: { not: { enum: ['token', 'access_token'] } } }

/** One file in each coding that there is of it. */
interface StaticFile {
  readonly plain: Uint8Array
  readonly etag: string
  readonly br: Uint8Array | undefined
  readonly gzip: Uint8Array | undefined
}

const CODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const
/** Characters of base64url of a tag: 132 bits of a hash. */
const TAG_LENGTH = 22

/**
 * The routes of a plugin's own pages, to anybody: each file below its prefix, and the page. Files whose names carry a hash of their content
 * (`main.0a1b2c3d.js`) are kept by browsers for a year, all others are asked for anew each time (`ETag`). They are read once, at their
 * first use, and kept; a name that is not in the folder answers `not_found`. Throws when there is no such folder.
 */
export function staticRoutes(files: StaticFiles): readonly Route[] {
  const file = openFolder(files.folder)
  const about = files.group === undefined ? {} : { group: files.group }
  const below = route<{ readonly file: string }, unknown, unknown>({
    ...about,
    method: 'GET',
    path: `${files.prefix}/:file`,
    role: 'public',
    summary: files.summary,
    ...(files.description === undefined ? {} : { description: files.description }),
    schema: { params: FILE },
    produces: [...new Set(Object.values(TYPES).map(mediaType)), OTHER_TYPE],
    errors: ['not_found'],
    conditional: true,
    handle: async (request) => replyWith(request, request.params.file, await file(request.params.file)),
  })
  const { page } = files
  if (page === undefined) return [below]
  const first = route({
    ...about,
    method: 'GET',
    path: page.path,
    role: 'public',
    summary: page.summary,
    ...(page.description === undefined ? {} : { description: page.description }),
    produces: ['text/html'],
    conditional: true,
    ...(page.everyPage === true ? { everyPage: true, schema: { query: FILTERS } } : {}),
    handle: async (request) => replyWith(request, page.file, await file(page.file)),
  })
  return [first, below]
}

/** A file of a folder, by its name. */
const FILE = objectSchema({ file: { type: 'string' } }, ['file'])

/**
 * The routes of what the build of a plugin has left in `dist/pages`, its pages and panels of the console: `/notes-files/notes.js`. `entry` is
 * the `import.meta.url` of its `plugin.ts`. There are none where nothing was built, as in tests from the sources.
 */
export function pageRoutes(entry: string, prefix: `/${string}`): readonly Route[] {
  const folder = fileURLToPath(new URL('../dist/pages', entry))
  if (!existsSync(folder)) return []
  const summary = 'Files for its pages in the console'
  const description = 'Scripts and styles of the build, for the console.'
  return staticRoutes({ folder, prefix, summary, description, group: 'This API' })
}

/** Only what was there when it was opened is ever read: no request names a path. */
function openFolder(folder: string): (name: string) => Promise<StaticFile> {
  const names = new Set(readdirSync(folder))
  const kept = new Map<string, Promise<StaticFile>>()
  return (name) => {
    const isCoding = CODINGS.some(([, suffix]) => name.endsWith(suffix))
    if (isCoding || !names.has(name)) throw notFound('such file')
    const known = kept.get(name) ?? read(folder, names, name)
    kept.set(name, known)
    // What could not be read once may be there the next time.
    known.catch(() => kept.delete(name))
    return known
  }
}

async function read(folder: string, names: ReadonlySet<string>, name: string): Promise<StaticFile> {
  const coded = async (suffix: string): Promise<Uint8Array | undefined> =>
    names.has(`${name}${suffix}`) ? readFile(join(folder, `${name}${suffix}`)) : undefined
  const [plain, br, gzip] = await Promise.all([readFile(join(folder, name)), coded('.br'), coded('.gz')])
  const etag = `"${createHash('sha256').update(plain).digest('base64url').slice(0, TAG_LENGTH)}"`
  return { plain, br, gzip, etag }
}

function replyWith(request: Pick<Request, 'header'>, name: string, file: StaticFile): Reply {
  const type = TYPES[extname(name)] ?? OTHER_TYPE
  const headers: Record<string, string> = {
    'Content-Type': type,
    'Content-Security-Policy': POLICY,
    'Cache-Control': HASHED.test(name) ? FOR_GOOD : 'no-cache',
    ETag: file.etag,
    Vary: 'Accept-Encoding',
  }
  const accepted = request.header('accept-encoding') ?? ''
  for (const [coding] of CODINGS) {
    const body = file[coding]
    if (body !== undefined && accepts(accepted, coding))
      return { body, headers: { ...headers, 'Content-Encoding': coding } }
  }
  return { body: file.plain, headers }
}

/** RFC 9110 §12.5.3, as far as it matters here: the coding is named and not refused. */
function accepts(header: string, coding: string): boolean {
  return header.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    return name === coding && !parameters.some((text) => /^q\s*=\s*0(\.0*)?$/.test(text))
  })
}

function mediaType(type: string): string {
  return type.replace(/;.*/, '')
}
