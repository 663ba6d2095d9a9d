import { lookup } from 'node:dns/promises'
import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { isIP } from 'node:net'
import { untilAborted } from '@steeple/contracts'
import type { Address } from './addresses.ts'
import { hostOf, judge, literalOf } from './judge.ts'
import { authorizationOf, caOf } from './secret-file.ts'
import type { Target } from './target.ts'

/** How long an attempt may take, its answer included, ms. */
const ATTEMPT_MS = 10_000
/** How long and how much of the body of an answer is read; nobody looks at it. */
const DRAIN_MS = 2_000
const MOST_OCTETS = 65_536
/** Octets of the headers of an answer. */
const HEADER_OCTETS = 16_384

/** The addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly Address[]>

/** What came back. */
export interface Answer {
  readonly status: number
  /** Ms that the receiver asks to be left alone for (RFC 9110 §10.2.3), if it names seconds. */
  readonly retryAfterMs: number | undefined
}

/** As the system resolves names, `/etc/hosts` included. */
export const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }))

/**
 * Posts to a receiver, once, and gives the status of its answer whatever it is: no redirect is followed. Every address of its
 * name is judged first, and the connection is made to one of those that were judged, so that a name that is answered
 * otherwise a moment later changes nothing. Rejects with an Error without secrets when there is no answer.
 */
export async function post(
  target: Target,
  headers: Readonly<Record<string, string>>,
  body: string,
  { signal, resolve = systemResolve }: { readonly signal: AbortSignal; readonly resolve?: Resolve },
): Promise<Answer> {
  const { url } = target
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
  const host = hostOf(url)
  const addresses = await addressesOf(target, resolve, bound)
  judge(target, addresses)
  const authorization = await authorizationOf(target.authorizationFile)
  const ca = await caOf(target.caFile)
  return await new Promise<Answer>((resolveWith, reject) => {
    const send = url.protocol === 'https:' ? tlsRequest : plainRequest
    const outgoing: ClientRequest = send({
      method: 'POST',
      // A connection of its own for each attempt: an old one would be to an address that was judged long ago.
      agent: false,
      hostname: host,
      port: url.port === '' ? undefined : Number(url.port),
      path: `${url.pathname}${url.search}`,
      lookup: (_host, options, done) => {
        const [first] = addresses
        if (options.all === true) done(null, [...addresses])
        else if (first !== undefined) done(null, first.address, first.family)
      },
      maxHeaderSize: HEADER_OCTETS,
      minVersion: 'TLSv1.2',
      // Said here, so that no variable of the environment switches it off.
      rejectUnauthorized: true,
      ...(isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca }),
      headers: {
        host: url.host,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': 'steeple',
        ...(authorization !== undefined && { authorization }),
        ...headers,
      },
      signal: bound,
    })
    outgoing.on('error', (error) => reject(bound.aborted && !signal.aborted ? late() : error))
    outgoing.on('response', (incoming) => {
      const answer = answerOf(incoming)
      void drained(incoming).then(() => resolveWith(answer))
    })
    outgoing.end(body)
  })
}

async function addressesOf(
  target: Target,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  const literal = literalOf(target)
  if (literal !== undefined) return [literal]
  const found = await untilAborted(resolve(hostOf(target.url)), signal).catch((error: unknown) => {
    throw signal.aborted ? late() : error
  })
  if (found.length === 0) throw new Error('its name has no address')
  return found
}

function answerOf({ statusCode = 0, headers }: IncomingMessage): Answer {
  const seconds = /^\d{1,6}$/.exec(headers['retry-after'] ?? '')?.[0]
  return { status: statusCode, retryAfterMs: seconds === undefined ? undefined : Number(seconds) * 1_000 }
}

/** Reads the rest of an answer, some of it and for some time: the status has said all. */
async function drained(incoming: IncomingMessage): Promise<void> {
  const timer = setTimeout(() => incoming.destroy(), DRAIN_MS)
  let octets = 0
  incoming.on('data', (chunk: Buffer) => {
    octets += chunk.length
    if (octets > MOST_OCTETS) incoming.destroy()
  })
  await new Promise<void>((done) => {
    incoming.on('close', done)
    incoming.on('error', () => done())
  })
  clearTimeout(timer)
}

function late(): Error {
  return new Error(`it did not answer within ${ATTEMPT_MS / 1_000} s`)
}
