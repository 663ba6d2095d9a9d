import type { PeerCertificate } from 'node:tls'
import {
  BOX_SERVER_NAME,
  isRecord,
  isServiceError,
  messageOf,
  type NodeCredentials,
  nodeIdIn,
  southboundUnavailable,
} from '@steeple/contracts'
import { type HttpClient, httpClient } from '@steeple/http-client'

/** A question to another box. */
export interface MeshCall {
  /** `https://host:port`. */
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** The CA that must have signed the other one's certificate. */
  readonly caPem: string
  /** The node that it must be; undefined: any node of that CA. */
  readonly nodeId: string | undefined
  /** Shows no certificate of this node. */
  readonly isAnonymous?: boolean
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** What the other box answered. `body`: parsed JSON, nothing of it checked. */
export interface MeshAnswer {
  readonly status: number
  readonly body: unknown
}

/** Asks other boxes over TLS, each side by its certificate. */
export interface MeshClient {
  /** Throws `southbound_unavailable` when no answer comes from the one that was meant. */
  call(call: MeshCall): Promise<MeshAnswer>
  close(): void
}

/** A thousand members, each with its names and routes. */
const MAX_ANSWER_BYTES = 8_388_608
const IDLE_MS = 90_000
/** An address that nobody has answers with nothing, and a question for news waits long. */
const CONNECT_MS = 5_000

/** As OpenSSL calls a certificate that is not good at the time of this machine. */
const ILL_TIMED: ReadonlySet<unknown> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])

/** Whether another box was refused for the times of its certificate alone: it answers, and one of two clocks may be wrong. */
export function isIllTimed(error: unknown): boolean {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: unknown }
  return ILL_TIMED.has(code) || (cause !== undefined && isIllTimed(cause))
}

function problemText(url: string, cause: unknown): string {
  const why = messageOf(cause)
  if (!isIllTimed(cause)) return `${url} does not answer: ${why}`
  const now = new Date().toISOString()
  return `${url} answers, but its ${why} by the clock of this machine, which says ${now}: look at the clocks of both`
}

/** Makes one; connections are kept and made anew when the node's certificate is another. */
export function meshClient(identity: NodeCredentials): MeshClient {
  let clients = new Map<string, HttpClient>()
  const forget = (): void => {
    for (const client of clients.values()) client.close()
    clients = new Map()
  }
  const stop = identity.onChange(forget)
  const clientFor = ({ caPem, nodeId, isAnonymous }: MeshCall): HttpClient => {
    const key = JSON.stringify([caPem, nodeId, isAnonymous])
    const known = clients.get(key)
    if (known !== undefined) return known
    const { key: privateKey, cert } = identity.tls()
    const client = httpClient({
      maxBytes: MAX_ANSWER_BYTES,
      connections: 4,
      idleMs: IDLE_MS,
      connectMs: CONNECT_MS,
      connect: {
        ca: caPem,
        servername: BOX_SERVER_NAME,
        ...(isAnonymous !== true && { key: privateKey, cert }),
        checkServerIdentity: (_host, certificate) => wrongNode(certificate, nodeId),
      },
    })
    clients.set(key, client)
    return client
  }
  return {
    call: async (call) => {
      try {
        return await send(call, clientFor(call))
      } catch (cause) {
        if (isServiceError(cause)) throw cause
        throw southboundUnavailable(problemText(call.url, cause), { cause })
      }
    },
    close: () => {
      stop()
      forget()
    },
  }
}

/** Boxes move and have many addresses: they are known by the node that their certificate names, not by a host name. */
function wrongNode(certificate: PeerCertificate, nodeId: string | undefined): Error | undefined {
  const found = nodeIdIn(certificate.subjectaltname)
  if (found === undefined) return new Error('its certificate names no node')
  if (nodeId !== undefined && found !== nodeId) return new Error(`it is the node ${found}, not ${nodeId}`)
  return undefined
}

async function send(call: MeshCall, client: HttpClient): Promise<MeshAnswer> {
  const body = call.body === undefined ? undefined : JSON.stringify(call.body)
  const { status, text } = await client.request(
    {
      method: call.method,
      url: new URL(call.path, call.url),
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...call.headers,
      },
      body,
    },
    AbortSignal.any([call.signal, AbortSignal.timeout(call.timeoutMs)]),
  )
  return { status, body: text === '' ? undefined : parsed(text) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Error('its answer is no JSON', { cause })
  }
}

/** The code of an error that the other box answered; empty when it is none. */
export function codeIn(body: unknown): string {
  const error = fieldOf(body, 'error')
  const code = fieldOf(error, 'code')
  return typeof code === 'string' ? code : ''
}

/** A member of an object that nothing is known of. */
export function fieldOf(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined
}
