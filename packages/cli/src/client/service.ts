import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import {
  type AnswerOf,
  type CallArguments,
  createClient,
  type ItemOf,
  type Method,
  type Operations,
  type PagedPath,
  type PathOf,
  type Problem,
  type RequestOf,
  type Result,
  type Success,
  type Transport,
  type TransportAnswer,
} from '@steeple/client'
import { nodeUri } from '@steeple/contracts'
import { codeOf, type HttpClientOptions, type HttpRequest, httpClient } from '@steeple/http-client'
import { type CommandError, failure } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'
import { baseUrl, bearerToken, type ConnectionOptions } from './credentials.ts'
import { type Identity, identityOf } from './identity.ts'
import { sessionToken } from './session.ts'

/** How large an answer may be and how long the other end silent. */
type Bounds = Pick<HttpClientOptions, 'maxBytes' | 'silenceMs'>

/** A plugin that is loaded, migrated and started answers after that; everything else is faster. No answer that a command asks for is larger. */
const OF_CALLS: Bounds = { maxBytes: 64 * 1024 * 1024, silenceMs: 60_000 }
/** A large backup is checked as a whole before it is answered. */
const OF_FILES: Bounds = { maxBytes: -1, silenceMs: 600_000 }

/** An answer whose fields and body the caller reads. */
interface Opened extends TransportAnswer {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
}

/** Sends each request on a connection of its own, over TLS as that identity. Redirects are not followed. */
function transportAs(identity: Identity | undefined, bounds: Bounds): Transport<Opened> {
  return async (url, { method, headers, body, signal }) => {
    const connect = connectAs(identity, headers.authorization !== undefined)
    const client = httpClient({ ...bounds, connect, connectMs: 0, idleMs: 0 })
    const request = { method, url: new URL(url), headers: { 'user-agent': 'svc-cli', ...headers }, body }
    // A command gives text, octets or a stream, and no other method.
    const answer = await client.open(request as HttpRequest, signal)
    return {
      status: answer.status,
      statusText: '',
      headers: { get: (name) => fieldOf(answer.headers, name) },
      body: Readable.toWeb(answer.body) as ReadableStream<Uint8Array<ArrayBuffer>>,
    }
  }
}

function fieldOf(headers: IncomingHttpHeaders, name: string): string | null {
  const value = headers[name]
  return (Array.isArray(value) ? value.join(', ') : value) ?? null
}

/** Where there is a token, it alone says who asks. */
function connectAs(
  identity: Identity | undefined,
  hasToken: boolean,
): NonNullable<HttpClientOptions['connect']> {
  if (identity === undefined) return {}
  const { client, ca, nodeId } = identity
  return {
    ...(hasToken ? {} : client),
    ...(ca === undefined ? {} : { ca }),
    ...(nodeId === undefined ? {} : { checkServerIdentity: acceptsNode(nodeId) }),
  }
}

/** A box is reached by many names and addresses; its certificate, by the CA that is pinned, says which box it is. */
function acceptsNode(nodeId: string) {
  return (host: string, certificate: PeerCertificate): Error | undefined => {
    const names = certificate.subjectaltname?.split(', ') ?? []
    return names.includes(`URI:${nodeUri(nodeId)}`) ? undefined : checkServerIdentity(host, certificate)
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    'nothing listens there; start the service with "svc serve" or name its address with --url or SVC_URL',
  ENOTFOUND: 'the name does not resolve; check --url or SVC_URL',
  EAI_AGAIN: 'the name server does not answer; use an address in --url or SVC_URL',
  ECONNRESET: 'the connection was closed; if the service has tls.enabled, the address begins with https://',
  EHOSTUNREACH: 'there is no way to that host; check the network and --url',
  ENETUNREACH: 'there is no way to that network; check the network and --url',
  ETIMEDOUT: 'the service does not answer; see its log, or "svc doctor" on its machine',
  EPROTO: 'it does not speak TLS; the address may have to begin with http://',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS; the address may have to begin with http://',
}
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/

/** A failure below HTTP, with what can be done about it. */
function networkError(base: URL, error: unknown): CommandError {
  const code = codeOf(error) || (error instanceof Error ? error.name : String(error))
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return failure('bad_answer', 'the answer is larger than 64 MiB', { cause: error })
  const hint = CERTIFICATE.test(code)
    ? 'its certificate is not trusted; name the CA of the box (keys/mesh-ca.pem in its data directory, keys/mesh/ca.pem once it has joined a mesh) with --ca or SVC_CA'
    : REMEDIES[code]
  return failure('unreachable', `cannot reach ${base.origin}: ${code}`, { hint, cause: error })
}

/** A JSON object as the service answers it. */
export type Json = Readonly<Record<string, unknown>>

/** A list gathered from its pages. `nextCursor` is null when nothing was left out. */
export interface List<Row = Json> {
  readonly key: string
  readonly rows: readonly Row[]
  readonly nextCursor: string | null
}

type Call<M extends Method> = <P extends PathOf<M>>(
  path: P,
  ...options: CallArguments<M, P>
) => Promise<Success<AnswerOf<M, P>>>

type ListPath = PagedPath & PathOf<'GET'>
type ListKey<P extends ListPath> = Extract<Operations[`GET ${P}`], { readonly list: string }>['list']
/** What is asked for a list, but for its pages. */
type ListRequest<P extends ListPath> = {
  readonly [Part in keyof RequestOf<'GET', P>]: Omit<
    NonNullable<RequestOf<'GET', P>[Part]>,
    'limit' | 'cursor'
  >
}

/** What an operation is given that is known by its name alone. */
export interface AnyRequest {
  readonly path?: Json
  readonly query?: Json
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The service as a command sees it. Every call throws a `CommandError` that says what the service answered. */
export interface Service {
  readonly get: Call<'GET'>
  /** A change is repeated once, under the same `Idempotency-Key`, when the connection breaks. */
  readonly post: Call<'POST'>
  readonly put: Call<'PUT'>
  readonly delete: Call<'DELETE'>
  /** A file, read by the caller to its end. */
  open<P extends PathOf<'GET'>>(path: P, ...options: CallArguments<'GET', P>): Promise<Opened>
  /** Follows `next_cursor` until `limit` rows are there. */
  list<P extends ListPath>(
    path: P,
    key: ListKey<P>,
    limit: number,
    request?: ListRequest<P>,
  ): Promise<List<ItemOf<P>>>
  /** The same by the name of an operation, `GET /v1/status`, as data has it. */
  any(operation: string, request: AnyRequest): Promise<Json>
  anyList(operation: string, key: string, limit: number, request: AnyRequest): Promise<List>
  openAny(operation: string, request?: AnyRequest): Promise<Opened>
}

/** Contract section 2: a page has at most 500 items. */
const PAGE_LIMIT = 500
/** The transport says when it has been silent for too long. */
const UNBOUNDED_MS = 2 ** 31 - 1

/**
 * A client for the service that the options and the environment name. `isStranger`: it shows no credential, for an address that
 * somebody else has given.
 */
export function connect(terminal: Terminal, options: ConnectionOptions, isStranger = false): Service {
  const base = baseUrl(terminal, options)
  const given = isStranger ? undefined : bearerToken(terminal, options)
  const identity = base.protocol === 'https:' ? identityOf(terminal, options) : undefined
  const stranger = serviceAt(base, identity && { ...identity, client: undefined }, () => undefined)
  if (isStranger) return stranger
  const isGiven = options.cert !== undefined || given !== undefined
  return serviceAt(base, identity, () => (isGiven ? given : sessionToken(terminal, base, stranger)))
}

type Token = () => string | undefined | Promise<string | undefined>

function serviceAt(base: URL, identity: Identity | undefined, token: Token): Service {
  const common = { url: `${base.origin}${base.pathname}`, token, retries: 0, timeoutMs: UNBOUNDED_MS }
  const calls = createClient({ ...common, fetch: transportAs(identity, OF_CALLS) })
  const files = createClient({ ...common, fetch: transportAs(identity, OF_FILES) })
  const call = async (method: string, path: string, request: AnyRequest = {}): Promise<Success<Json>> => {
    const isFile = contentOf(request.body) instanceof ReadableStream
    const client = isFile ? files : calls
    // Whoever asks has held it to what the operation takes.
    const send = client[method.toLowerCase() as Verb] as unknown as AnyCall
    const keyed = { ...request, idempotencyKey: randomUUID() }
    const first = await send(path, keyed)
    // The key makes a repetition safe: a change that was done answers its first result.
    const isToRepeat = !first.ok && method !== 'GET' && !isFile && codeOf(first.error.cause) === 'ECONNRESET'
    return objectOf(base, isToRepeat ? await send(path, keyed) : first)
  }
  const list = async (path: string, key: string, limit: number, request: AnyRequest = {}): Promise<List> => {
    const rows: Json[] = []
    let cursor: string | undefined
    do {
      const query = { ...request.query, limit: Math.min(PAGE_LIMIT, limit - rows.length), cursor }
      const { data } = await call('GET', path, { ...request, query })
      rows.push(...rowsOf(data, key))
      cursor = typeof data.next_cursor === 'string' ? data.next_cursor : undefined
    } while (cursor !== undefined && rows.length < limit)
    return { key, rows: rows.slice(0, limit), nextCursor: cursor ?? null }
  }
  const open = async (path: string, request?: AnyRequest): Promise<Opened> => {
    const opened = await (files.open as unknown as AnyOpen)(path, request)
    if (!opened.ok) throw refusal(base, opened.error)
    return opened.data
  }
  const verb = (method: string) => (path: string, request?: AnyRequest) => call(method, path, request)
  return {
    get: verb('GET'),
    post: verb('POST'),
    put: verb('PUT'),
    delete: verb('DELETE'),
    open,
    openAny: (operation: string, request?: AnyRequest) => open(operation.replace('GET ', ''), request),
    list,
    any: async (operation: string, request: AnyRequest) => {
      const [method = '', path = ''] = operation.split(' ')
      return (await call(method, path, request)).data
    },
    anyList: (operation: string, key: string, limit: number, request: AnyRequest) =>
      list(operation.replace('GET ', ''), key, limit, request),
  } as unknown as Service
}

type Verb = 'get' | 'post' | 'put' | 'delete'
type AnyCall = (path: string, request: AnyRequest) => Promise<Result<unknown>>
type AnyOpen = (path: string, request?: AnyRequest) => Promise<Result<Opened>>

function contentOf(body: unknown): unknown {
  return isObject(body) ? body.content : undefined
}

function rowsOf(body: Json, key: string): readonly Json[] {
  const rows = body[key]
  if (!Array.isArray(rows))
    throw failure('bad_answer', `the answer has no list ${key}; is this svc's address?`)
  return rows.filter(isObject)
}

function objectOf(base: URL, result: Result<unknown>): Success<Json> {
  if (!result.ok) throw refusal(base, result.error)
  const { data = {} } = result
  if (isObject(data)) return { ...result, data }
  throw strange(result.status)
}

function strange(status: number, cause?: unknown): CommandError {
  return failure('bad_answer', `HTTP ${status} without an answer of svc; is this svc's address?`, { cause })
}

/** What an answer that is no success says, or that there was none. */
function refusal(base: URL, problem: Problem): CommandError {
  const { code, message, details, requestId, retryAfterS, status, cause } = problem
  if (code === 'answer_of_another' || cause instanceof SyntaxError) return strange(status, problem)
  if (code === 'connection_lost' || code === 'no_answer_in_time') return networkError(base, cause)
  return failure(code, message, { details, requestId, retryAfterS, hint: hintOf(problem), cause: problem })
}

function hintOf({ status, retryAfterS }: Problem): string | undefined {
  if (status === 401)
    return 'set SVC_TOKEN (or SVC_ADMIN_TOKEN, or --token-file) to a token that the service at this address knows, or use a client certificate (svc user cert) over https, or svc login NAME'
  return status === 429 && retryAfterS !== undefined ? `try again in ${retryAfterS} s` : undefined
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; none when it is no list. */
export function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
