import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import type { Transport, TransportAnswer } from '@steeple/client'
import { codeOf, type HttpClientOptions, type HttpRequest, httpClient } from '@steeple/http-client'
import { type CommandError, failure } from '../command-error.ts'
import type { Identity } from './identity.ts'

/** How large an answer may be and how long the other end silent. */
export type Bounds = Pick<HttpClientOptions, 'maxBytes' | 'silenceMs'>

/** A plugin that is loaded, migrated and started answers after that; everything else is faster. No answer that a command asks for is larger. */
export const OF_CALLS: Bounds = { maxBytes: 64 * 1024 * 1024, silenceMs: 60_000 }
/** A large backup is checked as a whole before it is answered. */
export const OF_FILES: Bounds = { maxBytes: -1, silenceMs: 600_000 }

/** An answer whose fields and body the caller reads. */
export interface Opened extends TransportAnswer {
  readonly body: ReadableStream<Uint8Array<ArrayBuffer>>
}

/** Sends each request on a connection of its own, over TLS as that identity. Redirects are not followed. */
export function transportAs(identity: Identity | undefined, bounds: Bounds): Transport<Opened> {
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
    return names.includes(`URI:svc://node/${nodeId}`) ? undefined : checkServerIdentity(host, certificate)
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
export function networkError(base: URL, error: unknown): CommandError {
  const code = codeOf(error) || (error instanceof Error ? error.name : String(error))
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return failure('bad_answer', 'the answer is larger than 64 MiB', { cause: error })
  const hint = CERTIFICATE.test(code)
    ? 'its certificate is not trusted; name the CA of the box (keys/mesh-ca.pem in its data directory, keys/mesh/ca.pem once it has joined a mesh) with --ca or SVC_CA'
    : REMEDIES[code]
  return failure('unreachable', `cannot reach ${base.origin}: ${code}`, { hint, cause: error })
}
