import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, type LookupFunction } from 'node:net'
import { untilAborted } from '@steeple/contracts'
import { codeOf, requestOnce } from '@steeple/http-client'
import type { HttpRequest, Mail } from '../receivers/requests.ts'
import { type Address, hostOf, judge, literalOf } from './judge.ts'
import { caOf } from './secret-file.ts'
import type { Target } from './target.ts'

/** How long an attempt may take, its answer included, ms. */
const ATTEMPT_MS = 10_000
/** Octets of the body of an answer that are read. */
const MOST_OCTETS = 65_536

/** What the system says of a name that nobody knows, or that nobody can be asked for. */
const NAMELESS: ReadonlySet<string> = new Set(['ENOTFOUND', 'EAI_AGAIN'])

/** The addresses of a host name. */
export type Resolve = (host: string) => Promise<readonly Address[]>

export interface Answer {
  readonly status: number
  /** Ms that the receiver asks to be left alone for (RFC 9110 §10.2.3), if it names seconds. */
  readonly retryAfterMs: number | undefined
  /** Its body, where the receiver says why in it. */
  readonly text: string
}

/** As the system resolves names, `/etc/hosts` included. */
const systemResolve: Resolve = async (host) =>
  (await lookup(host, { all: true })).map(({ address, family }) => ({
    address,
    family: family === 6 ? 6 : 4,
  }))

/**
 * Sends a request to a receiver, once, and gives the status of its answer whatever it is: no redirect is followed. Every address of its
 * name is judged first, and the connection is made to one of those that were judged, so that a name that is answered
 * otherwise a moment later changes nothing. Rejects with an Error without secrets when there is no answer.
 */
export async function post(
  target: Target,
  { saysWhy, ...sent }: HttpRequest,
  { signal, resolve }: Sending,
): Promise<Answer> {
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
  const addresses = await judgedAddresses(target, resolve, bound)
  const ca = await caOf(target.caFile)
  const connect = {
    lookup: ((_host, _options, done) => done(null, [...addresses])) satisfies LookupFunction,
    ...(ca !== undefined && { ca }),
  }
  const request = {
    ...sent,
    headers: { 'content-type': 'application/json', 'user-agent': 'steeple', ...sent.headers },
    isBodyUnread: saysWhy !== true,
  }
  // A connection of its own for each attempt: an old one would be to an address that was judged long ago.
  const answer = await requestOnce({ maxBytes: MOST_OCTETS, connect }, request, bound).catch(
    (error: unknown) => {
      throw bound.aborted && !signal.aborted ? late() : error
    },
  )
  const seconds = /^\d{1,6}$/.exec(answer.headers['retry-after'] ?? '')?.[0]
  const retryAfterMs = seconds === undefined ? undefined : Number(seconds) * 1_000
  return { status: answer.status, retryAfterMs, text: answer.text }
}

interface Sending {
  readonly signal: AbortSignal
  /** As the system does when absent. */
  readonly resolve?: Resolve | undefined
}

/** The addresses of a receiver, each of which may be connected to. Rejects with an Error that says why not. */
async function judgedAddresses(
  target: Target,
  resolve: Resolve = systemResolve,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  const addresses = await addressesOf(target, resolve, signal)
  judge(target, addresses)
  return addresses
}

async function addressesOf(
  target: Target,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly Address[]> {
  const literal = literalOf(target)
  if (literal !== undefined) return [literal]
  const found = await untilAborted(resolve(hostOf(target.url)), signal).catch((error: unknown) => {
    if (signal.aborted) throw late()
    throw NAMELESS.has(codeOf(error)) ? nameless(target) : error
  })
  if (found.length === 0) throw nameless(target)
  return found
}

function nameless({ url }: Target): Error {
  return new Error(
    `its name ${hostOf(url)} has no address: check the name, and the box's way to the internet`,
  )
}

/** What is said of a receiver that takes too long. */
function late(): Error {
  return new Error(`it did not answer within ${ATTEMPT_MS / 1_000} s`)
}

/**
 * Hands a mail to a relay, once, over a connection to an address that was judged. Rejects with an Error that says what the relay has
 * answered, or that there was no answer.
 */
export async function sendMail(target: Target, mail: Mail, { signal, resolve }: Sending): Promise<void> {
  const bound = AbortSignal.any([signal, AbortSignal.timeout(ATTEMPT_MS)])
  const addresses = await judgedAddresses(target, resolve, bound)
  const ca = await caOf(target.caFile)
  const { host, port, encryption, login, ...message } = mail
  // Most boxes send no mail, and a start loads nothing for it.
  const { createTransport } = await import('nodemailer')
  const socket = connect({ host, port, lookup: (_host, _options, done) => done(null, [...addresses]) })
  const close = (): void => void socket.destroy()
  bound.addEventListener('abort', close)
  try {
    await once(socket, 'connect', { signal: bound })
    const transport = createTransport({
      host,
      port,
      connection: socket,
      secure: encryption === 'tls',
      requireTLS: encryption === 'starttls',
      ignoreTLS: encryption === 'none',
      // Said here, so that no variable of the environment switches it off.
      tls: { minVersion: 'TLSv1.2', rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
      ...(login !== undefined && { auth: login }),
      name: 'steeple',
      disableFileAccess: true,
      disableUrlAccess: true,
    })
    // A relay that takes it for some of several readers has taken it: it would come twice to them.
    await transport.sendMail({ ...message, headers: { 'Auto-Submitted': 'auto-generated' } })
  } catch (error) {
    throw bound.aborted && !signal.aborted ? late() : new Error(saidBy(error), { cause: error })
  } finally {
    bound.removeEventListener('abort', close)
    close()
  }
}

/** What the relay has answered, else what went wrong before. */
function saidBy(error: unknown): string {
  // Checked below.
  const { code, response, message } = error as Readonly<Record<'code' | 'response' | 'message', unknown>>
  if (typeof response !== 'string') return String(message)
  return code === 'ETLS' ? `it offers no STARTTLS: it answers ${response}` : `it answers ${response}`
}
