import { type IncomingHttpHeaders, request as plainRequest } from 'node:http'
import type { RequestOptions } from 'node:https'
import type { PeerCertificate } from 'node:tls'
import { failure } from '../command-error.ts'
import type { Identity } from './identity.ts'
import { networkError } from './network-error.ts'

/** One request as it goes out. */
export interface Outgoing {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
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
/** No answer that a command asks for is larger. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** Sends one request on a connection of its own. Redirects are not followed. Throws `unreachable`, `bad_answer`. */
export async function exchange(outgoing: Outgoing): Promise<Incoming> {
  const { request: send, options } = await wayTo(outgoing.url, outgoing.identity)
  return await new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(networkError(outgoing.url, error))
    const request = send(outgoing.url, {
      method: outgoing.method,
      headers: outgoing.headers,
      agent: false,
      timeout: TIMEOUT_MS,
      ...options,
    })
    request.on('timeout', () => request.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })))
    request.on('error', fail)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let length = 0
      response.on('data', (chunk: Buffer) => {
        length += chunk.length
        if (length <= MAX_ANSWER_BYTES) chunks.push(chunk)
        else response.destroy(failure('bad_answer', 'the answer is larger than 64 MiB'))
      })
      response.on('error', fail)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString('utf8'),
        }),
      )
    })
    request.end(outgoing.body)
  })
}

/** How requests to a URL are sent, as that identity. What TLS takes is loaded for TLS alone: node needs 18 ms of a processor for it. */
export async function wayTo(
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
