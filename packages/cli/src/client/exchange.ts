import { type IncomingHttpHeaders, type IncomingMessage, request as plainRequest } from 'node:http'
import type { RequestOptions } from 'node:https'
import { pipeline } from 'node:stream/promises'
import type { PeerCertificate } from 'node:tls'
import { CommandError, failure } from '../command-error.ts'
import type { Identity } from './identity.ts'

/** One request as it goes out. */
export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined
  /** For TLS: as whom it goes and who may answer. */
  readonly identity?: Identity | undefined
}

/** One answer as it came in. */
export interface Incoming {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** A plugin that is loaded, migrated and started answers after that; everything else is faster. */
const TIMEOUT_MS = 60_000
/** For so long the other end of a file may be silent: a large backup is checked as a whole before it is answered. */
export const FILE_TIMEOUT_MS = 600_000
/** No answer that a command asks for is larger. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** Sends one request on a connection of its own. Redirects are not followed. Throws `unreachable`, `bad_answer`. */
export async function exchange(outgoing: Outgoing, timeoutMs: number = TIMEOUT_MS): Promise<Incoming> {
  const response = await transfer(outgoing, timeoutMs)
  try {
    return await textOf(response)
  } catch (error) {
    throw error instanceof CommandError ? error : networkError(outgoing.url, error as Error)
  }
}

/** The same for an answer that is too large to hold: the caller reads it. Throws `unreachable`. */
export async function transfer(outgoing: Outgoing, timeoutMs: number): Promise<IncomingMessage> {
  const { url, method, headers, body, identity } = outgoing
  const { request: send, options } = await wayTo(url, identity)
  const request = send(url, { method, headers, agent: false, timeout: timeoutMs, ...options })
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', (response) => {
      request.on('timeout', () => response.destroy(timedOut()))
      resolve(response)
    })
    request.on('timeout', () => request.destroy(timedOut()))
    request.on('error', (error) => reject(networkError(url, error)))
  })
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) request.end(body)
  // A refusal comes before all is sent: it says why the rest was not wanted.
  else pipeline(body, request).catch(() => undefined)
  return await answered
}

function timedOut(): Error {
  return Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })
}

/** The answer as text. Throws `bad_answer` when it is longer than any. */
export async function textOf(response: IncomingMessage): Promise<Incoming> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of response) {
    const piece = chunk as Buffer // a response without an encoding gives Buffers
    length += piece.length
    if (length > MAX_ANSWER_BYTES) throw failure('bad_answer', 'the answer is larger than 64 MiB')
    chunks.push(piece)
  }
  const text = Buffer.concat(chunks).toString('utf8')
  return { status: response.statusCode ?? 0, headers: response.headers, text }
}

/** How requests to a URL are sent, as that identity. What TLS takes is loaded for TLS alone: node needs 18 ms of a processor for it. */
async function wayTo(
  url: URL,
  identity: Identity | undefined,
): Promise<{ readonly request: typeof plainRequest; readonly options: RequestOptions }> {
  if (url.protocol !== 'https:') return { request: plainRequest, options: {} }
  const [{ request }, { checkServerIdentity }] = await Promise.all([import('node:https'), import('node:tls')])
  return { request, options: tlsOptions(identity, checkServerIdentity) }
}

/** Whether a certificate is that of a host, as node judges it. */
type Judge = (host: string, certificate: PeerCertificate) => Error | undefined

function tlsOptions(identity: Identity | undefined, judge: Judge): RequestOptions {
  if (identity === undefined) return {}
  const { client, ca, nodeId } = identity
  return {
    ...client,
    ...(ca === undefined ? {} : { ca }),
    ...(nodeId === undefined ? {} : { checkServerIdentity: acceptsNode(nodeId, judge) }),
  }
}

/** A box is reached by many names and addresses; its certificate, by the CA that is pinned, says which box it is. */
function acceptsNode(nodeId: string, judge: Judge): Judge {
  return (host, certificate) => {
    const names = certificate.subjectaltname?.split(', ') ?? []
    return names.includes(`URI:svc://node/${nodeId}`) ? undefined : judge(host, certificate)
  }
}

const REMEDIES: Readonly<Record<string, string>> = {
  ECONNREFUSED:
    'nothing listens there; start the service with "svc" or name its address with --url or SVC_URL',
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
function networkError(base: URL, error: NodeJS.ErrnoException): CommandError {
  const code = error.code ?? codeOfFirst(error) ?? error.name
  return failure('unreachable', `cannot reach ${base.origin}: ${code}`, {
    hint: hintOf(code),
    cause: error,
  })
}

function hintOf(code: string): string | undefined {
  if (CERTIFICATE.test(code))
    return 'its certificate is not trusted; name the CA of the box (keys/mesh-ca.pem in its data directory, keys/mesh/ca.pem once it has joined a mesh) with --ca or SVC_CA'
  return REMEDIES[code]
}

/** `localhost` is tried as IPv6 and IPv4: the reasons are inside. */
function codeOfFirst(error: unknown): string | undefined {
  return error instanceof AggregateError
    ? (error.errors[0] as NodeJS.ErrnoException | undefined)?.code
    : undefined
}
