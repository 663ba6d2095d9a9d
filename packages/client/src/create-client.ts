import { UNKEYED } from './api.ts'
import { type ClientOptions, type Settings, settingsFrom } from './client-options.ts'
import { attempt, blobOf, type Exchange, textOf } from './exchange.ts'
import { type Change, type FollowOptions, followEvents, type Gap } from './follow-events.ts'
import { dataOf } from './problem.ts'
import type {
  AnswerOf,
  CallOptions,
  CodeOf,
  ItemOf,
  Method,
  PagedPath,
  PathOf,
  Problem,
  RequestOf,
  Result,
} from './types.ts'
import { backOff, type Leash, wait } from './wait.ts'

/** How often an exchange may be repeated. */
interface Repetition {
  readonly retries: number
  /** Nothing happens twice: it reads, or it has an `Idempotency-Key`; and its body is still there. */
  readonly isSafe: boolean
}

const UNAUTHENTICATED = 401
/** Too many; a proxy without its service; not now; a proxy that waited in vain. */
const PASSING: readonly number[] = [429, 502, 503, 504]
const PASSING_CODES: readonly string[] = ['connection_lost', 'no_answer_in_time', 'idempotency_in_progress']
const MS = 1_000

/** Sends until it is answered, may not be repeated, or has been often enough. Rejects for an aborted signal alone. */
async function send<Data>(
  settings: Settings,
  exchange: Exchange<Data>,
  { retries, isSafe }: Repetition,
): Promise<Result<Data>> {
  let token = await settings.token(undefined)
  let isRenewed = false
  for (let tries = 0; ; ) {
    const result = await attempt(settings, exchange, token)
    if (result.ok) return result
    // What was refused for its token has not run.
    if (result.error.status === UNAUTHENTICATED && !isRenewed && !(exchange.body instanceof ReadableStream)) {
      isRenewed = true
      const next = await settings.token(token)
      if (next === token) return result
      token = next
      continue
    }
    const waitMs = waitFor(settings, result.error, tries)
    if (!isSafe || tries >= retries || waitMs > settings.longestWaitMs) return result
    tries += 1
    await wait(waitMs, exchange.signal)
    token = await settings.token(undefined)
  }
}

/** How long to wait before it is tried again; infinity when that would change nothing. */
function waitFor(
  { backOffMs, longestWaitMs }: Settings,
  { status, code, retryAfterS }: Problem,
  tries: number,
): number {
  if (!PASSING.includes(status) && !PASSING_CODES.includes(code)) return Number.POSITIVE_INFINITY
  const ownMs = backOff(backOffMs, tries, longestWaitMs)
  return retryAfterS === undefined ? ownMs : Math.max(ownMs, retryAfterS * MS)
}

/** What a call is given beside its path: needed where the operation needs something. */
export type CallArguments<M extends Method, P extends PathOf<M>> =
  object extends RequestOf<M, P>
    ? [options?: RequestOf<M, P> & CallOptions]
    : [options: RequestOf<M, P> & CallOptions]

/** Calls the operations of one method. */
export type Call<M extends Method> = <P extends PathOf<M>>(
  path: P,
  ...options: CallArguments<M, P>
) => Promise<Result<AnswerOf<M, P>, CodeOf<M, P>>>

/** A client of one service. */
export interface Client {
  readonly get: Call<'GET'>
  readonly post: Call<'POST'>
  readonly put: Call<'PUT'>
  readonly delete: Call<'DELETE'>
  /** The answer of a GET as it comes, for what is too large to be held: its body is read by the caller, or cancelled. */
  open<P extends PathOf<'GET'>>(
    path: P,
    ...options: CallArguments<'GET', P>
  ): Promise<Result<Response, CodeOf<'GET', P>>>
  /** All rows of a list, page after page. Throws, as `dataOf`, when a page fails. */
  rows<P extends PagedPath & PathOf<'GET'>>(
    path: P,
    ...options: CallArguments<'GET', P>
  ): AsyncGenerator<ItemOf<P>>
  /** What changes at the service, over lost connections and restarts; `followEvents` says how. */
  events(options?: FollowOptions): AsyncGenerator<Change | Gap, void, undefined>
}

/** Options of any call, whatever its operation. */
interface AnyCall extends CallOptions {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly ifMatch?: string | undefined
}

const KEY_BYTES = 16

/** A client of the service at `url`. Nothing is sent before it is asked for something. */
export function createClient(options: ClientOptions): Client {
  const settings = settingsFrom(options)
  const call = (method: Method, path: string, given: AnyCall = {}): Promise<Result<unknown>> => {
    const exchange = exchangeOf(settings, method, path, given, contentOf)
    return send(settings, exchange, repetitionOf(settings, exchange, `${method} ${path}`, given))
  }
  // What an operation takes and answers is in the document, against which the service checks both.
  const calls = <M extends Method>(method: M): Call<M> =>
    ((path: string, given?: AnyCall) => call(method, path, given)) as unknown as Call<M>
  const open = (path: string, given: AnyCall = {}): Promise<Result<Response>> => {
    const exchange = {
      ...exchangeOf(settings, 'GET', path, given, async (response) => response),
      isOpen: true,
    }
    return send(settings, exchange, repetitionOf(settings, exchange, `GET ${path}`, given))
  }
  const rows = (path: string, given: AnyCall = {}): AsyncGenerator<unknown> =>
    rowsOf((cursor) =>
      call('GET', path, { ...given, query: { ...given.query, ...(cursor === undefined ? {} : { cursor }) } }),
    )
  return {
    get: calls('GET'),
    post: calls('POST'),
    put: calls('PUT'),
    delete: calls('DELETE'),
    open: open as Client['open'],
    rows: rows as Client['rows'],
    events: (following) => followEvents(settings, following),
  }
}

function exchangeOf<Data>(
  settings: Settings,
  method: Method,
  path: string,
  given: AnyCall,
  read: (response: Response, leash: Leash, timeoutMs: number) => Promise<Data>,
): Exchange<Data> {
  const { body, type } = bodyOf(given.body)
  const timeoutMs = given.timeoutMs ?? settings.timeoutMs
  const { ifMatch, ifNoneMatch } = given
  const isKeyed = method !== 'GET' && !UNKEYED.includes(`${method} ${path}`)
  return {
    method,
    target: targetOf(path, given),
    headers: {
      accept: 'application/json, */*;q=0.5',
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(isKeyed ? { 'idempotency-key': given.idempotencyKey ?? newKey() } : {}),
      ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }),
      ...given.headers,
    },
    body,
    timeoutMs,
    signal: given.signal,
    isOpen: false,
    read: (response, leash) => read(response, leash, timeoutMs),
  }
}

function repetitionOf(
  { retries }: Settings,
  { method, body }: Exchange<unknown>,
  operation: string,
  given: AnyCall,
): Repetition {
  const isSafe = (method === 'GET' || !UNKEYED.includes(operation)) && !(body instanceof ReadableStream)
  return { retries: given.retries ?? retries, isSafe }
}

function targetOf(path: string, { path: parts = {}, query = {} }: AnyCall): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(parts[name])))
  const asked = Object.entries(query).filter(([, value]) => value !== undefined)
  const search = new URLSearchParams(asked.map(([name, value]) => [name, String(value)])).toString()
  return search === '' ? filled : `${filled}?${search}`
}

/** JSON, or what says its type itself. */
function bodyOf(body: unknown): { readonly body: BodyInit | undefined; readonly type: string | undefined } {
  if (body === undefined) return { body: undefined, type: undefined }
  if (isRaw(body)) return { body: body.content, type: body.type }
  return { body: JSON.stringify(body), type: 'application/json' }
}

function isRaw(body: unknown): body is { readonly type: string; readonly content: BodyInit } {
  return typeof body === 'object' && body !== null && 'content' in body && 'type' in body
}

/** JSON as what it says, text as text, nothing as undefined, all else as a Blob. */
async function contentOf(response: Response, leash: Leash, timeoutMs: number): Promise<unknown> {
  const type = response.headers.get('content-type') ?? ''
  if (/^(application|text)\/[^;]*json/.test(type)) return JSON.parse(await textOf(response, leash, timeoutMs))
  if (/^text\/|xml/.test(type)) return await textOf(response, leash, timeoutMs)
  const blob = await blobOf(response, leash, timeoutMs)
  return blob.size === 0 ? undefined : blob
}

/** As random as a UUID, which a page without TLS may not draw. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A page as any list answers it: one list, and where it goes on. */
interface Page {
  readonly next_cursor: string | null
}

/**
 * The rows of a list, page after page, of which the next is read when it is needed. `read` asks for the page behind a cursor. Throws as
 * `dataOf` when a page fails: what came before it has been given.
 */
async function* rowsOf(
  read: (cursor: string | undefined) => Promise<Result<unknown>>,
): AsyncGenerator<unknown> {
  for (let cursor: string | undefined; ; ) {
    const page = dataOf(await read(cursor)) as Page
    for (const list of Object.values(page)) if (Array.isArray(list)) yield* list
    if (page.next_cursor === null) return
    cursor = page.next_cursor
  }
}
