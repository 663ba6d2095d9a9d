import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  isServiceError,
  type MutationTx,
  type Page,
  type Principal,
  type Reply,
  type Request,
  unauthenticated,
} from '@steeple/contracts'
import type { IdempotencyClaim } from '@steeple/kernel'
import type { EdgeCore } from '../edge-core.ts'
import type { Endpoint } from '../host/endpoint.ts'
import type { Line } from '../host/line.ts'
import { ANONYMOUS } from './anonymous.ts'
import { mayUse } from './authorize.ts'
import { mutateFor } from './mutate.ts'
import type { EdgeRate } from './rate-headers.ts'

/** One request and its answer, from the head to the close of its side of the connection. */
export class Exchange implements Request {
  readonly id: string
  readonly core: EdgeCore
  /** Undefined when no route fits. */
  readonly endpoint: Endpoint | undefined
  /** Its place among the requests of its connection. */
  readonly line: Line
  readonly incoming: IncomingMessage
  readonly outgoing: ServerResponse
  readonly startedMs: number
  /** The address of the peer, taken at once: the socket of a client that left has forgotten it. */
  readonly peerAddress: string
  params: unknown
  query: unknown
  body: unknown
  principal: Principal = ANONYMOUS
  /** The answer goes out in pieces: a swap waits for it only when its plugin leaves. */
  isStreaming = false
  /** What `body` is; `none` until a body was taken. */
  bodyKind: 'none' | 'json' | 'text' | 'stream' = 'none'
  /** The raw bytes of a buffered body. */
  bodyBytes: Buffer | undefined
  claim: IdempotencyClaim | undefined
  /** What the route's limit said, once it was asked. */
  rate: EdgeRate | undefined
  /** What the mutation of this request answered. */
  mutationReply: Reply | undefined
  /** `limit` and `cursor`, parsed. List routes only. */
  parsedPage: Page | undefined
  /** What serves it; undefined for the edge's own routes. */
  generation: { leave(exchange: Exchange): void; review(): void } | undefined
  /** Methods for the `Allow` header of a 405. */
  allow: string | undefined
  #hasMutated = false
  #departure: AbortController | undefined

  constructor(
    core: EdgeCore,
    endpoint: Endpoint | undefined,
    id: string,
    line: Line,
    incoming: IncomingMessage,
    outgoing: ServerResponse,
  ) {
    this.core = core
    this.endpoint = endpoint
    this.id = id
    this.line = line
    this.incoming = incoming
    this.outgoing = outgoing
    this.peerAddress = incoming.socket.remoteAddress ?? ''
    this.startedMs = core.kernel.clock.monotonicMs()
    line.enter(this)
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) this.#departure?.abort()
      core.settled(this)
    })
  }

  get signal(): AbortSignal {
    if (this.#departure !== undefined) return this.#departure.signal
    const departure = new AbortController()
    this.#departure = departure
    if (this.outgoing.destroyed || this.endpoint?.retiring.aborted === true) departure.abort()
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
    return await mutateFor(this, target, work)
  }

  /** Whether the credential that opened this exchange would still open it. */
  async stillAllowed(): Promise<boolean> {
    if (this.endpoint === undefined) return false
    const { authorization } = this.incoming.headers
    try {
      const now = await this.core.authenticate(this.endpoint.route.role, authorization, undefined)
      return now.id === this.principal.id && mayUse(this.endpoint, now)
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

  #followRetirement(departure: AbortController): void {
    const retiring = this.endpoint?.retiring
    if (retiring === undefined) return
    const leave = (): void => departure.abort()
    retiring.addEventListener('abort', leave, { once: true })
    this.outgoing.once('close', () => retiring.removeEventListener('abort', leave))
  }
}
