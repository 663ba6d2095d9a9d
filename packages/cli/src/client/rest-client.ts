import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { CommandError, type FaultDetail, failure } from '../command-error.ts'
import type { Terminal } from '../terminal.ts'
import { baseUrl, bearerToken, type ConnectionOptions } from './credentials.ts'
import { exchange, FILE_TIMEOUT_MS, type Incoming, type Outgoing, textOf, transfer } from './exchange.ts'
import { type Identity, identityOf } from './identity.ts'
import { sessionToken } from './session.ts'

/** A JSON object as the service answers it. Its fields are shown, never trusted. */
export type Json = Readonly<Record<string, unknown>>

/** A success of the service. */
interface Answer {
  readonly body: Json
  readonly etag: string | undefined
}

/** A list gathered from its pages. `nextCursor` is null when nothing was left out. */
export interface List {
  readonly key: string
  readonly rows: readonly Json[]
  readonly nextCursor: string | null
}

/** The service as a command sees it. Every call throws a `CommandError` that says what the service answered. */
export interface RestClient {
  get(path: string, query?: Readonly<Record<string, string | undefined>>): Promise<Answer>
  /** A document of that media type, as text. */
  text(path: string, accept: string, query?: Readonly<Record<string, string | undefined>>): Promise<string>
  /** A file, read by the caller to its end; `headers` say what of it is wanted. */
  download(path: string, headers: Readonly<Record<string, string>>, query?: Query): Promise<IncomingMessage>
  /** Sends a file of `size` octets, once. */
  upload(path: string, query: Query, file: Upload): Promise<Answer>
  /** Follows `next_cursor` until `limit` rows are there. */
  list(
    path: string,
    key: string,
    limit: number,
    query?: Readonly<Record<string, string | undefined>>,
  ): Promise<List>
  /**
   * Sends a change under an `Idempotency-Key` of its own; repeated once when the connection breaks. Text and octets go as they
   * are and need a `content-type` in `headers`; everything else goes as JSON.
   */
  change(
    method: 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
}

type Query = Readonly<Record<string, string | undefined>>

/** A file that is sent. */
export interface Upload {
  readonly size: number
  readonly headers: Readonly<Record<string, string>>
  content(): AsyncIterable<Uint8Array>
}

/** Contract section 2: a page has at most 500 items. */
const PAGE_LIMIT = 500

/**
 * A client for the service that the options and the environment name. `isStranger`: it shows no credential, for an address that
 * somebody else has given.
 */
export function connect(terminal: Terminal, options: ConnectionOptions, isStranger = false): RestClient {
  const base = baseUrl(terminal, options)
  const token = isStranger ? undefined : bearerToken(terminal, options)
  const known = base.protocol === 'https:' ? identityOf(terminal, options) : undefined
  const spoken = async (): Promise<Spoken> => {
    if (isStranger)
      return {
        common: { accept: 'application/json', 'user-agent': 'svc-cli' },
        identity: known && { ...known, client: undefined },
      }
    const isGiven = options.cert !== undefined || token !== undefined
    const bearer = isGiven ? token : await sessionToken(terminal, base, speaker(known, 'session'))
    const authorization = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
    const common = { accept: 'application/json', 'user-agent': 'svc-cli', ...authorization }
    return { common, identity: speaker(known, bearer) }
  }
  const read = async (url: URL): Promise<Answer> => {
    const { common, identity } = await spoken()
    return answerOf(await exchange({ method: 'GET', url, headers: common, identity }))
  }
  return {
    ...fileTransfers(base, spoken),
    get: (path, query = {}) => read(address(base, path, query)),
    text: async (path, accept, query = {}) => {
      const { common, identity } = await spoken()
      const headers = { ...common, accept }
      const url = address(base, path, query)
      const incoming = await exchange({ method: 'GET', url, headers, identity })
      if (incoming.status !== 200) throw refusal(incoming, parsed(incoming))
      return incoming.text
    },
    list: async (path, key, limit, query = {}) => {
      const rows: Json[] = []
      let cursor: string | null = null
      do {
        const size = String(Math.min(PAGE_LIMIT, limit - rows.length))
        const { body } = await read(
          address(base, path, { ...query, limit: size, cursor: cursor ?? undefined }),
        )
        rows.push(...rowsOf(body, key))
        cursor = typeof body.next_cursor === 'string' ? body.next_cursor : null
      } while (cursor !== null && rows.length < limit)
      return { key, rows: rows.slice(0, limit), nextCursor: cursor }
    },
    change: async (method, path, body, headers = {}) => {
      const { common, identity } = await spoken()
      const isSent = body === undefined || typeof body === 'string' || body instanceof Uint8Array
      const text = isSent ? body : JSON.stringify(body)
      const type = text === undefined ? {} : { 'content-type': 'application/json' }
      const key = { 'idempotency-key': randomUUID(), 'content-length': String(Buffer.byteLength(text ?? '')) }
      return answerOf(
        await insist({
          method,
          url: address(base, path, {}),
          headers: { ...common, ...type, ...key, ...headers },
          body: text,
          identity,
        }),
      )
    },
  }
}

/** What is too large to hold. */
function fileTransfers(base: URL, spoken: () => Promise<Spoken>): Pick<RestClient, 'download' | 'upload'> {
  return {
    download: async (path, headers, query = {}) => {
      const { common, identity } = await spoken()
      const url = address(base, path, query)
      const asked = { ...common, accept: '*/*', ...headers }
      const response = await transfer({ method: 'GET', url, headers: asked, identity }, FILE_TIMEOUT_MS)
      if (response.statusCode !== 200) throw refusalOf(await textOf(response))
      return response
    },
    upload: async (path, query, { size, headers, content }) => {
      const { common, identity } = await spoken()
      const url = address(base, path, query)
      const told = { ...common, 'content-length': String(size), ...headers }
      return answerOf(
        await exchange({ method: 'POST', url, headers: told, body: content(), identity }, FILE_TIMEOUT_MS),
      )
    },
  }
}

/** How requests begin, and as whom TLS is spoken. */
interface Spoken {
  readonly common: Readonly<Record<string, string>>
  readonly identity: Identity | undefined
}

/** Where there is a token, it alone says who asks. */
function speaker(identity: Identity | undefined, token: string | undefined): Identity | undefined {
  return identity === undefined || token === undefined ? identity : { ...identity, client: undefined }
}

/** The key makes a repetition safe: a change that was done answers its first result. */
async function insist(outgoing: Outgoing): Promise<Incoming> {
  try {
    return await exchange(outgoing)
  } catch (error) {
    const cause =
      error instanceof CommandError ? (error.cause as NodeJS.ErrnoException | undefined) : undefined
    if (cause?.code !== 'ECONNRESET') throw error
    return await exchange(outgoing)
  }
}

function address(base: URL, path: string, query: Readonly<Record<string, string | undefined>>): URL {
  const url = new URL(base.pathname.replace(/\/+$/, '') + path, base)
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(name, value)
  return url
}

function rowsOf(body: Json, key: string): readonly Json[] {
  const rows = body[key]
  if (!Array.isArray(rows))
    throw failure('bad_answer', `the answer has no list ${key}; is this svc's address?`)
  return rows.filter(isObject)
}

function answerOf(incoming: Incoming): Answer {
  const body = parsed(incoming)
  if (incoming.status < 200 || incoming.status > 299) throw refusal(incoming, body)
  return { body, etag: incoming.headers.etag }
}

function parsed(incoming: Incoming): Json {
  if (incoming.text === '') return {}
  try {
    const body: unknown = JSON.parse(incoming.text)
    if (isObject(body)) return body
  } catch {
    // Told below: what matters is that it is not the service's answer.
  }
  throw failure('bad_answer', `HTTP ${incoming.status} without a JSON object; is this svc's address?`)
}

/** What an answer that is no success says. Throws `bad_answer` when it is not the service's. */
export function refusalOf(incoming: Incoming): CommandError {
  return refusal(incoming, parsed(incoming))
}

function refusal(incoming: Incoming, body: Json): CommandError {
  const error = isObject(body.error) ? body.error : {}
  const code = typeof error.code === 'string' ? error.code : `http_${incoming.status}`
  const message =
    typeof error.message === 'string' ? error.message : `the service answered ${incoming.status}`
  const id = incoming.headers['x-request-id']
  return failure(code, message, {
    details: detailsOf(error.details),
    requestId: typeof id === 'string' ? id : undefined,
    hint: hintOf(incoming),
    retryAfterS: retryAfterS(incoming),
  })
}

/** RFC 9110 §10.2.3; the service says seconds, never a date. */
function retryAfterS({ headers }: Incoming): number | undefined {
  const text = headers['retry-after']
  return text !== undefined && /^\d{1,6}$/.test(text) ? Number(text) : undefined
}

function detailsOf(details: unknown): readonly FaultDetail[] {
  if (!Array.isArray(details)) return []
  return details
    .filter(isObject)
    .map((detail) => ({ pointer: String(detail.pointer ?? ''), message: String(detail.message ?? '') }))
}

function hintOf(incoming: Incoming): string | undefined {
  if (incoming.status === 401)
    return 'set SVC_TOKEN (or SVC_ADMIN_TOKEN, or --token-file) to a token that the service at this address knows, or use a client certificate (svc user cert) over https, or svc login NAME'
  const wait = incoming.headers['retry-after']
  return incoming.status === 429 && wait !== undefined ? `try again in ${wait} s` : undefined
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The objects of a list; none when it is no list. */
export function objectsOf(value: unknown): readonly Json[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
