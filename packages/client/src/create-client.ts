import { type RawBody, UNKEYED } from './api.ts'
import { type ClientOptions, type Settings, settingsFrom, type TransportAnswer } from './client-options.ts'
import { attempt, blobOf, type Exchange, piecesOf, textOf } from './exchange.ts'
import { dataOf, withoutAnswer } from './problem.ts'
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
import { backOff, type Leash, leashOf, wait } from './wait.ts'

/** One frame of an event stream that carries data. */
interface Frame {
  readonly type: string
  readonly data: string
}

/** What has been read of a stream. Source: WHATWG HTML §9.2.6, interpretation of an event stream. */
interface FrameReader {
  /** The frames that a further piece of text completes. Throws when a frame grows beyond all bounds. */
  take(text: string): readonly Frame[]
  /** The last id that was sent, of frames without data too; undefined before the first. */
  readonly lastId: () => string | undefined
  /** Ms that the server asks to wait before the stream is opened anew. */
  readonly retryMs: () => number | undefined
}

/** The service's frames have at most some kB. */
const LONGEST_FRAME = 4_194_304

/** Reads one connection from its beginning. */
export function frameReader(): FrameReader {
  let rest = ''
  let type = ''
  let data: string[] = []
  let id: string | undefined
  let lastId: string | undefined
  let retryMs: number | undefined

  const field = (name: string, value: string): void => {
    if (name === 'event') type = value
    else if (name === 'data') data.push(value)
    else if (name === 'id' && !value.includes('\0')) id = value
    else if (name === 'retry' && /^\d+$/.test(value)) retryMs = Number(value)
  }
  const complete = (): Frame | undefined => {
    const frame =
      data.length === 0 ? undefined : { type: type === '' ? 'message' : type, data: data.join('\n') }
    lastId = id ?? lastId
    type = ''
    data = []
    return frame
  }
  const line = (text: string): Frame | undefined => {
    if (text === '') return complete()
    const colon = text.indexOf(':')
    if (colon === -1) field(text, '')
    else if (colon > 0) field(text.slice(0, colon), text.slice(colon + 1).replace(/^ /, ''))
    return undefined
  }
  return {
    take: (text) => {
      rest += text
      if (rest.length > LONGEST_FRAME) throw new Error('a line of the event stream does not end')
      // A CR at the end may be the first half of a CRLF.
      const end = rest.endsWith('\r') ? rest.length - 1 : rest.length
      const lines = rest.slice(0, end).split(/\r\n|\r|\n/)
      rest = (lines.pop() ?? '') + rest.slice(end)
      return lines.flatMap((one) => line(one) ?? [])
    },
    lastId: () => lastId,
    retryMs: () => retryMs,
  }
}

/** Something has changed. */
export interface Change {
  readonly kind: 'change'
  readonly id: number
  /** RFC 3339, UTC. */
  readonly at: string
  /** `sim.issue` for instance; more may come. */
  readonly type: string
  readonly subject: string | null
  readonly data: Readonly<Record<string, unknown>>
}

/** Changes behind `after`, up to and with `until`, are not kept any more: read the state afresh. */
export interface Gap {
  readonly kind: 'gap'
  readonly id: number
  readonly after: number
  readonly until: number
}

/** Where the stream is: open, or to be opened anew in so many ms because of an error. */
export type StreamState =
  | { readonly state: 'open' }
  | { readonly state: 'waiting'; readonly waitMs: number; readonly error: Problem }

/** How events are followed. */
export interface FollowOptions {
  /** Goes on behind this one; from now on when absent. */
  readonly lastEventId?: number | string
  /** Ends the iteration; without it breaking out of the loop does, at the next event. */
  readonly signal?: AbortSignal
  /** Is told when the connection opens and when it is lost. */
  onState?(state: StreamState): void
}

/** The service's own `retry`, until it has said it. */
const FIRST_RETRY_MS = 2_000
/** What no waiting changes. */
const FINAL: readonly number[] = [400, 401, 403, 404]

/** What one connection has seen. */
interface Position {
  lastId: string | undefined
  retryMs: number
  /** Connections in a row that brought nothing. */
  vain: number
}

/**
 * What changes at the service, each change once and in order, over as many connections as it takes. A connection that is lost or silent
 * is opened anew where it ended. Ends when the signal is aborted; throws, as `dataOf`, when the service refuses for good.
 */
async function* followEvents(
  settings: Settings,
  { lastEventId, signal, onState }: FollowOptions = {},
): AsyncGenerator<Change | Gap, void, undefined> {
  const position: Position = {
    lastId: lastEventId === undefined ? undefined : String(lastEventId),
    retryMs: FIRST_RETRY_MS,
    vain: 0,
  }
  const isOver = (): boolean => signal?.aborted === true
  while (!isOver()) {
    const leash = leashOf(signal)
    let error: Problem
    try {
      error = yield* connection(settings, position, leash, () => onState?.({ state: 'open' }))
    } finally {
      leash.cut()
      leash.release()
    }
    if (isOver()) return
    if (FINAL.includes(error.status)) dataOf({ ok: false, error })
    const waitMs = Math.max(
      backOff(position.retryMs, position.vain, settings.longestWaitMs),
      (error.retryAfterS ?? 0) * 1_000,
    )
    position.vain += 1
    onState?.({ state: 'waiting', waitMs, error })
    await wait(waitMs, signal).catch(() => undefined)
  }
}

/** One connection, to its end; gives why it ended. */
async function* connection(
  settings: Settings,
  position: Position,
  leash: Leash,
  onOpen: () => void,
): AsyncGenerator<Change | Gap, Problem, undefined> {
  const opened = await open(settings, position, leash).catch(() => undefined)
  if (opened === undefined) return lost('it was aborted')
  if (!opened.ok) return opened.error
  onOpen()
  const reader = frameReader()
  const decoder = new TextDecoder()
  try {
    for await (const piece of piecesOf(opened.data.body, leash, settings.silenceMs)) {
      position.vain = 0
      for (const frame of reader.take(decoder.decode(piece, { stream: true }))) {
        const event = eventFrom(frame)
        if (event === undefined) continue
        position.lastId = String(event.id)
        yield event
      }
      position.lastId = reader.lastId() ?? position.lastId
      position.retryMs = reader.retryMs() ?? position.retryMs
    }
    return lost('the service has ended the stream')
  } catch (cause) {
    return lost(leash.hasPassed() ? 'nothing came any more' : String(cause))
  }
}

/** Opens the stream; a token that is refused is asked for once more. */
async function open(settings: Settings, { lastId }: Position, leash: Leash) {
  const exchange = {
    method: 'GET',
    target: '/v1/events',
    headers: { accept: 'text/event-stream', ...(lastId === undefined ? {} : { 'last-event-id': lastId }) },
    body: undefined,
    timeoutMs: settings.timeoutMs,
    signal: leash.signal,
    isOpen: true,
    read: async (response: TransportAnswer) => response,
  }
  const token = await settings.token(undefined)
  const first = await attempt(settings, exchange, token)
  if (first.ok || first.error.status !== 401) return first
  const next = await settings.token(token)
  return next === token ? first : await attempt(settings, exchange, next)
}

function lost(message: string): Problem {
  return withoutAnswer('connection_lost', message).error
}

/** Undefined for what is no event of the service. */
function eventFrom({ type, data }: Frame): Change | Gap | undefined {
  const told = JSON.parse(data) as Omit<Change, 'kind'> & Omit<Gap, 'kind' | 'id'>
  if (type === 'gap') return { kind: 'gap', id: told.until, after: told.after, until: told.until }
  if (typeof told.id !== 'number') return undefined
  const { id, at, subject } = told
  return { kind: 'change', id, at, type: told.type, subject, data: told.data }
}

/** How often an exchange may be repeated. */
interface Repetition {
  readonly retries: number
  /** Nothing happens twice: it reads, or it has an `Idempotency-Key`; and its body is still there. */
  readonly isSafe: boolean
}

const UNAUTHENTICATED = 401
const NO_CONTENT = 204
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

/** A client of one service; `Answer` is what its transport gives. */
export interface Client<Answer = Response> {
  readonly get: Call<'GET'>
  readonly post: Call<'POST'>
  readonly put: Call<'PUT'>
  readonly delete: Call<'DELETE'>
  /** The answer of a GET as it comes, for what is too large to be held: its body is read by the caller, or cancelled. */
  open<P extends PathOf<'GET'>>(
    path: P,
    ...options: CallArguments<'GET', P>
  ): Promise<Result<Answer, CodeOf<'GET', P>>>
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
export function createClient<Answer extends TransportAnswer = Response>(
  options: ClientOptions<Answer>,
): Client<Answer> {
  const settings = settingsFrom(options)
  const call = (method: Method, path: string, given: AnyCall = {}): Promise<Result<unknown>> => {
    const exchange = exchangeOf(settings, method, path, given, contentOf)
    return send(settings, exchange, repetitionOf(settings, exchange, `${method} ${path}`, given))
  }
  // What an operation takes and answers is in the document, against which the service checks both.
  const calls = <M extends Method>(method: M): Call<M> =>
    ((path: string, given?: AnyCall) => call(method, path, given)) as unknown as Call<M>
  const open = (path: string, given: AnyCall = {}): Promise<Result<TransportAnswer>> => {
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
    open: open as unknown as Client<Answer>['open'],
    rows: rows as Client['rows'],
    events: (following) => followEvents(settings, following),
  }
}

function exchangeOf<Data>(
  settings: Settings,
  method: Method,
  path: string,
  given: AnyCall,
  read: (response: TransportAnswer, leash: Leash, timeoutMs: number) => Promise<Data>,
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
function bodyOf(body: unknown): { readonly body: RawBody | undefined; readonly type: string | undefined } {
  if (body === undefined) return { body: undefined, type: undefined }
  if (isRaw(body)) return { body: body.content, type: body.type }
  return { body: JSON.stringify(body), type: 'application/json' }
}

function isRaw(body: unknown): body is { readonly type: string; readonly content: RawBody } {
  return typeof body === 'object' && body !== null && 'content' in body && 'type' in body
}

/** JSON as what it says, text as text, nothing as undefined, all else as a Blob. */
async function contentOf(response: TransportAnswer, leash: Leash, timeoutMs: number): Promise<unknown> {
  if (response.status === NO_CONTENT) return undefined
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
