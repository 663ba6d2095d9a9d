import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import {
  type Access,
  type AuthenticatedPrincipal,
  authenticatorRef,
  bootstrapTokensRef,
  type Clock,
  defineError,
  type ErrorFactory,
  expandRoles,
  forbidden,
  overLimit,
  type Principal,
  type Role,
  systemPrincipal,
  unauthenticated,
} from '@steeple/contracts'
import type { FastifyRequest } from 'fastify'
import type { EdgeKernel } from '../edge-kernel.ts'
import type { Endpoint } from '../host/endpoint.ts'
import type { ClientCertificates } from '../tls/client-certificates.ts'
import { type Concern, concern } from './concern.ts'
import type { RequestContext } from './request-context.ts'

const WINDOW_MS = 60_000
/** Principals remembered at a time; each has one counter. */
const MOST_KNOWN = 10_000

/** Bounds the refusals of each principal that are written to the audit trail, which is kept for a year. */
export interface Denials {
  /** Counts one. Throws `rate_limited` when the principal had `mostPerMinute` within this minute. */
  count(principal: Principal): void
}

/** Somebody with the lowest role must not be able to fill the disk with refusals. */
export function createDenials(clock: Clock, mostPerMinute: number): Denials {
  const known = new Map<string, { readonly sinceMs: number; count: number }>()
  return {
    count: ({ kind, id }) => {
      const nowMs = clock.monotonicMs()
      const key = `${kind}:${id}`
      const entry = known.get(key)
      if (entry === undefined || nowMs - entry.sinceMs >= WINDOW_MS) {
        if (known.size >= MOST_KNOWN) known.clear()
        known.set(key, { sinceMs: nowMs, count: 1 })
        return
      }
      entry.count += 1
      if (entry.count > mostPerMinute) {
        const resetS = Math.ceil((entry.sinceMs + WINDOW_MS - nowMs) / 1_000)
        throw overLimit(
          `more than ${mostPerMinute} requests were refused for want of a role; wait a minute`,
          { name: 'refused', limit: mostPerMinute, resetS, windowS: WINDOW_MS / 1_000 },
        )
      }
    },
  }
}

/** The principal of a request to a public route. It has no role and may not change anything by itself. */
export const ANONYMOUS: Principal = systemPrincipal('anonymous')

/** Answers of the authenticator, for the same header again. */
interface PrincipalMemo {
  /** The principal of that header, if it was asked for within the last second and nothing was revoked since. */
  recall(authorization: string | undefined): Principal | undefined
  /** Keeps an answer; `epoch` is the authenticator's from before the question. */
  keep(authorization: string | undefined, principal: AuthenticatedPrincipal, epoch: object | undefined): void
}

interface Kept {
  readonly principal: AuthenticatedPrincipal
  readonly epoch: object
  readonly untilMs: number
}

/** The authenticator is asked at least that often, so that it knows of the use of a token. */
const KEEP_MS = 1_000
/** Only headers that were accepted get in. */
const MOST_KEPT = 1_000

/** Saves a busy client two hashes and a look-up per request. Holds nothing while the authenticator names no epoch. */
export function createMemo(kernel: EdgeKernel): PrincipalMemo {
  const kept = new Map<string, Kept>()
  const { clock } = kernel
  return {
    recall: (authorization) => {
      if (authorization === undefined) return undefined
      const found = kept.get(authorization)
      if (found === undefined) return undefined
      const { expiresAtMs } = found.principal
      const isFresh =
        clock.monotonicMs() < found.untilMs &&
        (expiresAtMs === undefined || clock.nowMs() < expiresAtMs) &&
        kernel.service(authenticatorRef)?.epoch === found.epoch
      return isFresh ? found.principal : undefined
    },
    keep: (authorization, principal, epoch) => {
      if (authorization === undefined || epoch === undefined) return
      if (kept.size >= MOST_KEPT) kept.clear()
      kept.set(authorization, { principal, epoch, untilMs: clock.monotonicMs() + KEEP_MS })
    },
  }
}

/** Longest credential that is looked at: a JWT with all roles is far below. */
const MAX_CREDENTIAL_CHARS = 4_096
/** RFC 6750 §2.1; wider than its `b64token`, since an operator may choose any visible ASCII as the admin token. */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i
const BOOTSTRAP_PREFIX = 'svcb_'

/** Who authenticated with an unused bootstrap token. */
interface BootstrapPrincipal extends Principal {
  readonly isBootstrap: true
}

/** What says who sends a request. */
export interface Credentials {
  readonly authorization: string | undefined
  /** The connection, whose client may have presented a certificate. */
  readonly socket: Socket
  /** The node of the path, for bootstrap tokens. */
  readonly nodeId: string | undefined
}

/**
 * Says who sends a request. Throws `unauthenticated`, `token_expired`, `certificate_revoked`, `bootstrap_token_invalid`.
 */
export type Authenticate = (access: Access, credentials: Credentials) => Principal | Promise<Principal>

/**
 * Bearer authentication: the environment admin token by constant-time comparison of digests, bootstrap tokens on
 * bootstrap routes alone, everything else by the service `access.authenticator`. Without a bearer token it is the client
 * certificate of the connection.
 *
 * Of a certificate and a token together the token says who acts, since it was put into this request on purpose; a
 * certificate that is not believed refuses the request all the same.
 */
export function createAuthenticate(
  kernel: EdgeKernel,
  adminToken: string | undefined,
  certificates: Pick<ClientCertificates, 'principalOf'>,
): Authenticate {
  const adminDigest = adminToken === undefined ? undefined : digestOf(adminToken)
  const variable = kernel.settings.auth.admin_token_env
  const admin: Principal = { kind: 'admin-env', id: variable, name: variable, roles: expandRoles(['admin']) }
  const memo = createMemo(kernel)
  const byToken = (
    access: Access,
    { authorization, nodeId }: Credentials,
  ): Principal | Promise<Principal> => {
    const remembered = memo.recall(authorization)
    if (remembered !== undefined) return remembered
    const token = tokenFrom(authorization)
    if (adminDigest !== undefined && timingSafeEqual(digestOf(token), adminDigest)) return admin
    if (token.startsWith(BOOTSTRAP_PREFIX)) return bootstrapPrincipal(kernel, access, token, nodeId)
    return knownPrincipal(kernel, token, (principal, epoch) => memo.keep(authorization, principal, epoch))
  }
  return (access, credentials) => {
    if (access === 'public') return ANONYMOUS
    const holder = certificates.principalOf(credentials.socket)
    if (holder === undefined) return byToken(access, credentials)
    if (credentials.authorization === undefined) return holder
    return holder.then(() => byToken(access, credentials))
  }
}

function tokenFrom(authorization: string | undefined): string {
  if (authorization === undefined) throw unauthenticated('send Authorization: Bearer <token>')
  const token = authorization.length > MAX_CREDENTIAL_CHARS ? undefined : BEARER.exec(authorization)?.[1]
  if (token === undefined)
    throw unauthenticated('the header is malformed; send Authorization: Bearer <token>')
  return token
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}

type Keep = (principal: AuthenticatedPrincipal, epoch: object | undefined) => void

async function knownPrincipal(kernel: EdgeKernel, token: string, keep: Keep): Promise<Principal> {
  const authenticator = kernel.service(authenticatorRef)
  // Read before the question: what is revoked while it is answered makes the answer stale.
  const epoch = authenticator?.epoch
  const principal = await authenticator?.authenticate(token)
  if (principal === undefined) throw unauthenticated('the token is not known; create another one')
  keep(principal, epoch)
  return principal
}

async function bootstrapPrincipal(
  kernel: EdgeKernel,
  access: Access,
  token: string,
  nodeId: string | undefined,
): Promise<BootstrapPrincipal> {
  // The same words as for an unknown token: elsewhere a bootstrap token is not even looked up.
  if (access !== 'bootstrap' || nodeId === undefined)
    throw unauthenticated('the token is not known; create another one')
  const checked = await kernel.service(bootstrapTokensRef)?.check(token, nodeId)
  if (checked === undefined) throw unauthenticated('the token is not known; create another one')
  const roles = expandRoles(checked.roles)
  return { kind: 'token', id: checked.id, name: 'bootstrap', roles, isBootstrap: true }
}

/**
 * Whether the principal may use the route.
 *
 * A bootstrap route takes what authenticated as a bootstrap token (it has no role) and, where the route says so,
 * nodes, for their own record. No role, not even admin, opens it: what a bootstrap token does, a person does not do.
 */
export function mayUse(endpoint: Endpoint, principal: Principal, params: unknown): boolean {
  const { role: access, nodeToo } = endpoint.route
  if (access === 'public') return true
  if (access === 'bootstrap' && 'isBootstrap' in principal) return true
  if (access !== 'bootstrap' && access !== 'node' && principal.roles.has(access)) return true
  const isForNodes = access === 'node' || nodeToo === true
  return isForNodes && principal.roles.has('node') && isOwn(endpoint, principal, params)
}

/** An `:id` in the path of a route that nodes may call is a node's: no other gets there, whatever its handler looks at. */
function isOwn(endpoint: Endpoint, principal: Principal, params: unknown): boolean {
  return !endpoint.route.path.split('/').includes(':id') || nodeIdFrom(params) === principal.id
}

/** The node that a path names; undefined when it names none. */
function nodeIdFrom(params: unknown): string | undefined {
  if (typeof params !== 'object' || params === null || !('id' in params)) return undefined
  return typeof params.id === 'string' ? params.id : undefined
}

/** The role that a refusal names. */
export function neededRole(endpoint: Endpoint): Role | 'bootstrap token' {
  const access = endpoint.route.role
  return access === 'public' || access === 'bootstrap' ? 'bootstrap token' : access
}

/** Says who sends the request: at once (undefined), or when the promise resolves. */
function authenticate(context: RequestContext, endpoint: Endpoint): Promise<void> | undefined {
  const { core } = context
  core.failures.refuseGuess(context)
  try {
    const admitted = core.authenticate(endpoint.route.role, context.credentials(nodeIdFrom(context.params)))
    if (isPromise(admitted)) return later(context, admitted)
    context.principal = admitted
    core.failures.succeeded(context)
    return undefined
  } catch (thrown) {
    throw core.failures.failed(context, thrown)
  }
}

async function later(context: RequestContext, admitted: Promise<Principal>): Promise<void> {
  const { failures } = context.core
  try {
    context.principal = await admitted
  } catch (thrown) {
    throw failures.failed(context, thrown)
  }
  failures.succeeded(context)
}

function isPromise<T extends object>(value: T | Promise<T>): value is Promise<T> {
  return 'then' in value
}

/** From then on a request that was admitted is admitted once more before it changes something. */
const LATE_MS = 1_000

/** A body comes as slowly as its sender likes: what was taken from somebody meanwhile is asked for once more. */
export async function admitAgain(context: RequestContext, endpoint: Endpoint): Promise<void> {
  const { clock } = context.core.kernel
  if (endpoint.route.role === 'public' || clock.monotonicMs() - context.startedMs < LATE_MS) return
  await authenticate(context, endpoint)
  if (!mayUse(endpoint, context.principal, context.params)) await deny(context, endpoint)
}

/** Says who asks, before a byte of the body is read. */
export const credentials: Concern = concern('credentials', ['bounds', 'errors'], (app) => {
  app.addHook('onRequest', ({ context }, _reply, done) => {
    const { endpoint } = context
    const admitted =
      endpoint === undefined || endpoint.route.role === 'public' ? undefined : authenticate(context, endpoint)
    if (admitted === undefined) done()
    else admitted.then(() => done(), done)
  })
})

/** Refuses those who may not do this, at first, and once more when the body has come. */
export const roles: Concern = concern('roles', ['credentials'], (app) => {
  app.addHook('onRequest', ({ context }, _reply, done) => {
    const { endpoint, principal, incoming } = context
    if (endpoint === undefined || mayUse(endpoint, principal, context.params)) {
      if (endpoint?.isMutating === true) refuseForeignPage(principal, incoming.headers)
      done()
    } else deny(context, endpoint).catch(done)
  })
  app.addHook('onRoute', (route) => {
    const endpoint = route.config?.endpoint
    if (endpoint?.isMutating !== true) return
    route.preHandler = ({ context }: FastifyRequest) => admitAgain(context, endpoint)
  })
})

/** What a page of somebody else makes a browser send. */
const foreignPage: ErrorFactory = defineError(
  'forbidden',
  403,
  'a page of another origin sent this request with the certificate of the browser; use a page of this service, or a token',
)
/** Values of `Sec-Fetch-Site` of what a page of this very service asks, or a person by hand. Fetch Metadata §2.4. */
const OWN_SITES: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none'])

/**
 * Refuses what a page of another origin makes a browser change by the certificate that is imported there: the browser
 * presents it by itself, whoever's page asks. A token is in a request on purpose alone. Throws `forbidden`.
 *
 * Browsers say where such a request is from (`Origin`, RFC 6454 §7.3, or `Sec-Fetch-Site`); a program that says neither
 * holds its certificate itself and cannot be tricked.
 */
function refuseForeignPage({ kind }: Principal, headers: IncomingHttpHeaders): void {
  if (kind !== 'cli' && kind !== 'node') return
  if (!OWN_SITES.has(headers['sec-fetch-site'])) throw foreignPage()
  const { origin } = headers
  if (origin === undefined) return
  // Without a host, as `null` is, it is nobody's page here.
  if (URL.parse(origin)?.host !== headers.host?.toLowerCase()) throw foreignPage()
}

/** Refuses for want of a role; an attempt to change something is audited. Target is the pattern, not the URL. */
async function deny(context: RequestContext, endpoint: Endpoint): Promise<never> {
  const role = neededRole(endpoint)
  const { route } = endpoint
  if (route.method !== 'GET') {
    context.core.denials.count(context.principal)
    await context.core.kernel.mutations.refuse({
      principal: context.principal,
      action: typeof route.audit === 'string' ? route.audit : 'http.request',
      target: route.path,
      outcome: 'denied',
      requestId: context.id,
      detail: { method: route.method, needs: role },
    })
  }
  throw forbidden(role)
}
