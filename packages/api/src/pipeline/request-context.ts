import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  isServiceError,
  type MutationTx,
  type Page,
  type Principal,
  type Reply,
  type Request,
  type ServiceError,
  unauthenticated,
} from '@steeple/contracts'
import type { IdempotencyClaim, Mutation } from '@steeple/kernel'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { EdgeCore } from '../edge-core.ts'
import { type Connection, connectionOf } from '../host/connection.ts'
import type { Endpoint } from '../host/endpoint.ts'
import type { Credentials } from './authenticate.ts'
import { ANONYMOUS, mayUse } from './authenticate.ts'
import type { EdgeRate } from './respond.ts'
import type { Share } from './shares.ts'

/** One request and its answer, from the head to the close of its side of the connection. */
export class RequestContext implements Request {
  readonly id: string
  readonly core: EdgeCore
  /** Undefined when no route fits. */
  readonly endpoint: Endpoint | undefined
  readonly connection: Connection
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly reply: FastifyReply
  readonly startedMs: number
  /** The address of the client, taken at once: the socket of one that left has forgotten it. */
  readonly peerAddress: string
  readonly proxy: Request['proxy']
  principal: Principal = ANONYMOUS
  /** The answer goes out in pieces: a swap waits for it only when its plugin leaves. */
  isStreaming = false
  /** It was admitted, and is not the handler's yet: its URL and body are being checked. */
  isUnderCheck = false
  /** Its body was asked for (`Expect`). */
  isInvited = false
  /** The raw bytes of a buffered body. */
  bodyBytes: Buffer | undefined
  claim: IdempotencyClaim | undefined
  /** What the route's limit said, once it was asked. */
  rate: EdgeRate | undefined
  /** What the mutation of this request answered. */
  mutationReply: Reply | undefined
  /** `limit` and `cursor`, as given and parsed. List routes only. */
  paged: { readonly limit: unknown; readonly cursor: unknown } | undefined
  parsedPage: Page | undefined
  /** What serves it; undefined for the edge's own routes. */
  generation: { review(): void } | undefined
  /** Where that one keeps it. */
  place = 0
  /** What it uses of what its principal may use; undefined until it is known whose it is. */
  share: Share | undefined
  isRunning = false
  unreadBytes = 0
  /** Bytes that its body may use in memory. */
  bodyRoom = 0
  /** The answer is out, or nobody wants it any more. */
  isOver = false
  /** Methods for the `Allow` header of a 405. */
  allow: string | undefined
  #hasMutated = false
  #departure: AbortController | undefined
  readonly #request: FastifyRequest
  readonly #afterwards: (() => void)[] = []

  constructor(
    core: EdgeCore,
    endpoint: Endpoint | undefined,
    id: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ) {
    this.core = core
    this.endpoint = endpoint
    this.id = id
    this.#request = request
    this.reply = reply
    this.incoming = request.raw
    this.outgoing = reply.raw
    this.connection = connectionOf(request.raw)
    const { address, proxy } = core.senderOf(request.raw)
    this.peerAddress = address
    this.proxy = proxy
    this.startedMs = core.kernel.clock.monotonicMs()
    this.connection.enter(this)
    this.outgoing.on('close', () => this.over())
  }

  get params(): unknown {
    return this.#request.params
  }

  get query(): unknown {
    return this.#request.query
  }

  get body(): unknown {
    return this.#request.body
  }

  /** The connection side is over: the answer is out, or the client left. Repeating it changes nothing. */
  over(): void {
    if (this.isOver) return
    this.isOver = true
    if (!this.outgoing.writableFinished) this.#departure?.abort()
    for (const work of this.#afterwards) work()
    this.#dropUnread()
    this.connection.leave(this)
  }

  /** Does the work when the exchange is over. */
  onOver(work: () => void): void {
    this.#afterwards.push(work)
  }

  /** Writes of what is not the client's fault. */
  noteFailure(error: ServiceError): void {
    const facts = { request_id: this.id, route: this.pattern, code: error.code, err: error.cause ?? error }
    this.core.kernel.log.error(facts, 'request failed')
  }

  get signal(): AbortSignal {
    if (this.#departure !== undefined) return this.#departure.signal
    const departure = new AbortController()
    this.#departure = departure
    if (this.isOver || this.outgoing.destroyed || this.endpoint?.retiring.aborted === true) departure.abort()
    else this.#followRetirement(departure)
    return departure.signal
  }

  header(name: string): string | undefined {
    const value = this.incoming.headers[name.toLowerCase()]
    return Array.isArray(value) ? value.join(', ') : value
  }

  page(): Page {
    if (this.parsedPage === undefined) throw new Error(`${this.pattern} is not declared as paged`)
    return this.parsedPage
  }

  async mutate(target: string, work: (tx: MutationTx) => Promise<Reply>): Promise<Reply> {
    if (this.#hasMutated) throw new Error(`${this.pattern} called mutate twice`)
    this.#hasMutated = true
    const result = await this.core.kernel.mutations.run(mutationOf(this, target, work))
    this.rate = result.rate
    this.mutationReply = result.reply
    return result.reply
  }

  async take(limit: string, cost: number): Promise<void> {
    await this.core.kernel.mutations.take({
      principal: this.principal,
      action: actionOf(this.endpoint),
      target: this.pattern,
      requestId: this.id,
      rateLimit: { name: limit, cost },
    })
  }

  /** What says who sends it. */
  credentials(nodeId: string | undefined): Credentials {
    const { authorization } = this.incoming.headers
    return { authorization, socket: this.connection.socket, nodeId }
  }

  /** Whether the credential that opened this exchange would still open it. */
  async stillAllowed(): Promise<boolean> {
    if (this.endpoint === undefined) return false
    try {
      const now = await this.core.authenticate(this.endpoint.route.role, this.credentials(undefined))
      return now.id === this.principal.id && mayUse(this.endpoint, now, this.params)
    } catch (error) {
      // A store that does not answer for a moment has revoked nothing.
      return !isServiceError(error) || error.status !== unauthenticated.status
    }
  }

  /** The route pattern for logs and metrics; never the URL, which may hold what nobody should see. */
  get pattern(): string {
    return this.endpoint?.route.path ?? 'unmatched'
  }

  /** The URL's path as sent, without its query. */
  get path(): string {
    const url = this.incoming.url ?? '/'
    const end = url.search(/[?#]/)
    return end === -1 ? url : url.slice(0, end)
  }

  /** The answer is out and the client still sends a body that nobody reads: not for long. */
  #dropUnread(): void {
    const { incoming, connection } = this
    if (incoming.complete || connection.destroyed) return
    const bound = setTimeout(() => connection.destroy(), this.core.limits.unreadBodyMs).unref()
    incoming.once('close', () => clearTimeout(bound))
  }

  #followRetirement(departure: AbortController): void {
    const retiring = this.endpoint?.retiring
    if (retiring === undefined) return
    const leave = (): void => departure.abort()
    retiring.addEventListener('abort', leave, { once: true })
    this.onOver(() => retiring.removeEventListener('abort', leave))
  }
}

/** What of a request its mutation goes by. */
export interface MutationFacts extends Pick<RequestContext, 'id' | 'endpoint' | 'principal' | 'body'> {
  readonly claim?: IdempotencyClaim | undefined
}

/** The one mutation of a request: principal, audit action, owner, limit and idempotency claim come from it. */
export function mutationOf(
  { id, endpoint, principal, body, claim }: MutationFacts,
  target: string,
  work: Mutation['work'],
): Mutation {
  const route = endpoint?.route
  if (endpoint === undefined || route === undefined || route.method === 'GET') {
    throw new Error(`${route?.path ?? 'unmatched'} is a reading route and cannot mutate`)
  }
  const limit = route.rateLimit
  // The body was checked against the schema that the route declares beside its cost function.
  const cost = limit?.cost?.(body as never) ?? 1
  return {
    principal,
    action: actionOf(endpoint),
    target,
    owner: endpoint.plugin,
    requestId: id,
    ...(claim === undefined ? {} : { idempotency: claim }),
    ...(limit === undefined ? {} : { rateLimit: { ...limit, cost } }),
    work,
  }
}

export function actionOf(endpoint: Endpoint | undefined): string | undefined {
  const audit = endpoint?.route.audit
  return typeof audit === 'string' ? audit : undefined
}
