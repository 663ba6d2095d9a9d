import type { JsonSchema } from './json-schema.ts'
import type { Access, Principal } from './roles.ts'
import type { MutationTx } from './store.ts'

/** The answer of a handler. `body` is JSON unless `stream` or a `content-type` header says otherwise. */
export interface Reply {
  /** 200 when absent. */
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Chunks sent as they come (server-sent events, CSV); ends when the iterable ends or the client leaves. */
  readonly stream?: AsyncIterable<string | Uint8Array>
  /** The body shows a secret once; the copy kept for an Idempotency-Key is sealed with the vault key. */
  readonly sealed?: boolean
}

/** One authenticated, authorised and validated request. */
export interface Request<Params = unknown, Query = unknown, Body = unknown> {
  /** The request id: in every log line and audit entry of this request. */
  readonly id: string
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly principal: Principal
  /**
   * The address of the client: the other end of the connection, or what a proxy there says that `server.trusted_proxies` names. Of any
   * other proxy it is the proxy's own.
   */
  readonly peerAddress: string
  /**
   * The trusted proxy at the other end of the connection, and whether the client spoke TLS to it (`X-Forwarded-Proto: https`); undefined
   * when there is none.
   */
  readonly proxy?: { readonly address: string; readonly isTls: boolean } | undefined
  /** Aborts when the client leaves or the route's plugin is withdrawn. */
  readonly signal: AbortSignal
  header(name: string): string | undefined
  /** The page asked for by `limit` and `cursor`. Throws `invalid_limit`, `invalid_cursor`. List routes only. */
  page(): Page
  /**
   * The one way to change desired state in answer to a request: change, audit entry, event, rate limit and the
   * answer for the Idempotency-Key are one transaction. Call it at most once per request. Throws what `work` throws;
   * then nothing is changed and the audit trail says `failed`.
   */
  mutate(target: string, work: (tx: MutationTx) => Promise<Reply>): Promise<Reply>
  /**
   * Takes `cost` from a limit of the policy beside the route's own, before the work that it is for. It stays taken when
   * that work fails. Throws `rate_limited`, which the audit trail says as `denied`.
   */
  take(limit: string, cost: number): Promise<void>
}

/** A page of a list: at most `limit` items after `after` (the position in the cursor, undefined = from the start). */
export interface Page {
  readonly limit: number
  readonly after: readonly (string | number)[] | undefined
  /** The opaque cursor of a position: the key values of the last item given. */
  cursor(position: readonly (string | number)[]): string
}

/** The body of a page, as `pageSchema` has it; `rows` are those behind `after`, one more than `limit` where there are more. */
export async function pageFrom<Row>(
  { limit, cursor }: Page,
  key: string,
  rows: readonly Row[],
  recordOf: (row: Row) => unknown,
  positionOf: (row: Row) => readonly (string | number)[],
): Promise<Readonly<Record<string, unknown>>> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next_cursor = rows.length > limit && last !== undefined ? cursor(positionOf(last)) : null
  return { [key]: await Promise.all(shown.map((row) => recordOf(row))), next_cursor }
}

interface RouteBase {
  /** fastify syntax: `/v1/nodes/:id`. */
  readonly path: `/${string}`
  readonly role: Access
  /**
   * Own-id rule: `node` principals may call it too, for their own node only. An `:id` in the path is the node's, and the edge
   * checks it; the handler checks ids that stand elsewhere.
   */
  readonly nodeToo?: boolean
  /** One line for the OpenAPI document. */
  readonly summary: string
  readonly description?: string
  /** What people do with it, as the documentation groups routes; that of its path when absent: see `Manifest.paths`. */
  readonly group?: string
  /** A request body to begin with; made from the schema when absent. */
  readonly example?: unknown
  readonly schema?: {
    readonly params?: JsonSchema
    /** Values arrive as strings; numbers and booleans in it are coerced. */
    readonly query?: JsonSchema
    readonly body?: JsonSchema
    /** The success body. */
    readonly response?: JsonSchema
    readonly status?: number
  }
  /** Codes of the catalogue, beyond the edge's own, that this route can answer. Documented in OpenAPI. */
  readonly errors?: readonly string[]
  /** A list route: `limit` and `cursor` are accepted and documented. */
  readonly paged?: boolean
  /** Media types of the request body besides `application/json`, and of the answer, for OpenAPI. */
  readonly consumes?: readonly string[]
  readonly produces?: readonly string[]
  /** Begun at once, whatever else of the same principal is under way: a probe, or what switches off. */
  readonly urgent?: boolean
  /**
   * For what switches off: it is refused for nothing but its sender. `true`: neither query nor body are looked at. A function is given
   * the octets of the body, whatever their media type; what it returns is the body, and nothing else of the request is checked. It is
   * done again for an Idempotency-Key that was used. Undefined: the request is judged as any other.
   */
  readonly unrefusable?: true | ((octets: Uint8Array) => unknown)
  /** Bytes; 1 MiB when absent. */
  readonly bodyLimit?: number
  /**
   * The handler gets the octets of the body (a `Uint8Array`), JSON or not, and checks them itself against what
   * `schema.body` says: for bodies that are too large to be parsed in one go.
   */
  readonly rawBody?: true
  /**
   * Told of an admitted request that the edge refuses for its URL or body (413 `body_too_large`, 415, 400) before the handler
   * is asked, for a route whose audit trail has to tell of it; the answer goes out afterwards. It may `mutate`, and what it throws
   * is answered. Params, query and body are unchecked: look at none of them without care.
   */
  onRefused?(request: Request<never, never, never>, error: unknown): Promise<void>
  handle(request: Request<never, never, never>): Promise<Reply>
}

/** A route that changes nothing. */
export interface ReadRoute extends RouteBase {
  readonly method: 'GET'
  /**
   * Its answers have an `ETag`: the one that the handler gives, otherwise one of the body. The edge answers 304 without a body
   * when `If-None-Match` names it. Documented in OpenAPI.
   */
  readonly conditional?: boolean
  /** It may answer 302 and a `Location` instead of a body. Documented in OpenAPI. */
  readonly redirects?: boolean
  /**
   * It also answers a browser that asks for a page (`GET`, `Accept: text/html`) at a path of at most six segments for which there is no
   * route, and whose first segment no route and no known plugin has: a page that finds its way by itself. One route has it at a time.
   */
  readonly everyPage?: boolean
  readonly audit?: never
}

/** A route that may change something: names its audit action, or says why it has none. */
export interface MutatingRoute extends RouteBase {
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly audit: string | { readonly none: string }
  /**
   * It honours `If-Match` with the `ETag` of what it changes, so that a stale form overwrites nobody's change: within its `mutate` the
   * handler refuses any other with a code of `errors` whose status is 409 or 412, and answers with the new `ETag`. Documented in OpenAPI.
   */
  readonly guarded?: boolean
  /**
   * Counts against `policy.rate_limits`: the limit's name, and how much one request costs (1 when absent). With `isOfSuccess` what the
   * handler's `mutate` refuses costs nothing.
   */
  readonly rateLimit?: { readonly name: string; cost?(body: never): number; readonly isOfSuccess?: true }
}

/** A route as data: the edge turns it into HTTP, authorisation, validation and documentation. */
export type Route = ReadRoute | MutatingRoute

/** A route with typed request parts; checks at compile time, gives the plain `Route`. */
export function route<Params, Query, Body>(
  definition: (Omit<ReadRoute, 'handle'> | Omit<MutatingRoute, 'handle'>) & {
    handle(request: Request<Params, Query, Body>): Promise<Reply>
  },
): Route {
  // The edge validates params, query and body against the schemas before it calls the handler.
  return definition as unknown as Route
}
