import { createHash, hash } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import {
  defineError,
  type ErrorFactory,
  forbidden,
  idempotencyInProgress,
  idempotencyKeyReused,
  isServiceError,
  type Principal,
  type Reply,
  rateLimited,
  rowsHidden,
  type ServiceError,
  type TraceParent,
  unauthenticated,
  validationFailed,
} from '@steeple/contracts'
import type { IdempotencyClaim, StoredReply } from '@steeple/kernel'
import type { EdgeKernel } from '../edge-kernel.ts'
import type { Endpoint } from '../host/endpoint.ts'
import { ANONYMOUS, mayUse, neededRole, nodeIdFrom } from './authenticate.ts'
import { ClientLeft } from './body-space.ts'
import { conditional } from './conditional.ts'
import type { EdgeRate } from './rate-headers.ts'
import { takeBody, takeUnrefusable } from './read-body.ts'
import type { RequestContext } from './request-context.ts'
import { answerableError, replyFromError, respond, respondError } from './respond.ts'
import { validateBody, validateUrl } from './validate.ts'

/** Contract section 2: 1 to 255 visible ASCII characters. */
const KEY = /^[\x21-\x7e]{1,255}$/

/** Refusals at the door: another try of the same request may pass. */
const PASSING: readonly number[] = [unauthenticated.status, forbidden.status, rateLimited.status]

const OTHER_BODY = 'with another body'
/** The header of an answer that repeats an earlier one. */
const REPLAYED: Readonly<Record<string, string>> = { 'Idempotency-Replayed': 'true' }

/**
 * The claim of a request that carries an `Idempotency-Key`. Throws `validation_failed` for a key that is none.
 *
 * Public routes have none: there is no principal to bind the key to, and a stored answer would open to anyone.
 */
function claimOf(context: RequestContext, endpoint: Endpoint): IdempotencyClaim | undefined {
  const key = context.header('idempotency-key')
  if (key === undefined || !endpoint.isMutating || context.principal === ANONYMOUS) return undefined
  if (!endpoint.route.path.startsWith('/v1/')) return undefined
  if (!KEY.test(key)) {
    throw validationFailed('Idempotency-Key must be 1 to 255 visible ASCII characters', {
      details: [{ pointer: '/Idempotency-Key', message: 'must be 1 to 255 visible ASCII characters' }],
    })
  }
  const { kind, id } = context.principal
  const scope = hash('sha256', JSON.stringify([kind, id, endpoint.route.method, context.path, key]))
  return { scope, bodySha256: requestDigest(context, endpoint) }
}

/**
 * Answers a request with a claim: from the store when its first result is there, by running it otherwise.
 *
 * Of two at the same time one runs; the other gets `idempotency_in_progress`. The first result is kept by the
 * mutation's own transaction; only a request that ran none, or that answers something else, keeps it here.
 */
async function answerOnce(
  context: RequestContext,
  claim: IdempotencyClaim,
  run: () => Promise<Reply>,
): Promise<Reply> {
  const { running, kernel } = context.core
  const other = running.get(claim.scope)
  if (other !== undefined)
    throw other === claim.bodySha256 ? idempotencyInProgress() : idempotencyKeyReused(OTHER_BODY)
  running.set(claim.scope, claim.bodySha256)
  try {
    const first = await kernel.mutations.stored(claim.scope)
    if (first !== undefined) return replay(first, claim)
    context.claim = claim
    return await runAndKeep(context, claim, run)
  } finally {
    running.delete(claim.scope)
  }
}

/**
 * Answers what switches off: it is done each time, since what it switched off may be on again. Its key says only whether that was
 * answered before; one that is none, or that another request has used, refuses nothing.
 */
async function answerEachTime(
  context: RequestContext,
  endpoint: Endpoint,
  run: () => Promise<Reply>,
): Promise<Reply> {
  const reply = await run()
  const claim = KEY.test(context.header('idempotency-key') ?? '') ? claimOf(context, endpoint) : undefined
  if (claim === undefined) return reply
  const first = await context.core.kernel.mutations.stored(claim.scope).catch(() => undefined)
  if (first !== undefined) return { ...reply, headers: { ...reply.headers, ...REPLAYED } }
  // The answer waits for no store.
  keep(context, claim, reply).catch(() => undefined)
  return reply
}

function replay(first: StoredReply, claim: IdempotencyClaim): Reply {
  if (first.isUndone === true)
    throw idempotencyKeyReused('before a restore, which has undone what it did: look what is there')
  if (first.bodySha256 !== claim.bodySha256) throw idempotencyKeyReused(OTHER_BODY)
  return { ...first.reply, headers: { ...first.reply.headers, ...REPLAYED } }
}

async function runAndKeep(
  context: RequestContext,
  claim: IdempotencyClaim,
  run: () => Promise<Reply>,
): Promise<Reply> {
  let reply: Reply
  try {
    reply = await run()
  } catch (thrown) {
    // The refusal is what the client must hear, even if it cannot be kept. It may name what was asked for, which may
    // be a secret in the wrong place: it is kept sealed.
    const refusal = { ...replyFromError(context, thrown), sealed: true }
    if (isResult(thrown)) await keep(context, claim, refusal).catch(() => undefined)
    throw thrown
  }
  if (reply !== context.mutationReply) await keep(context, claim, reply)
  return reply
}

/** Whether a refusal is the result of the request, and not an accident on the way to one. */
function isResult(thrown: unknown): boolean {
  return isServiceError(thrown) && thrown.code !== idempotencyInProgress.code
}

async function keep(context: RequestContext, claim: IdempotencyClaim, reply: Reply): Promise<void> {
  const status = reply.status ?? 200
  if (status >= 500 || PASSING.includes(status) || reply.stream !== undefined) return
  await context.core.kernel.mutations.keep(claim, reply)
}

/** What makes a request the same: query, media types where they choose, and the bytes of the body. */
function requestDigest(context: RequestContext, endpoint: Endpoint): string {
  const { incoming, bodyBytes } = context
  const { headers, url } = incoming
  const query = url?.slice(context.path.length) ?? ''
  const type = endpoint.route.consumes === undefined ? '' : headers['content-type']
  const accept = endpoint.route.produces === undefined ? '' : headers.accept
  const size = bodyBytes === undefined ? headers['content-length'] : ''
  const digest = createHash('sha256').update(JSON.stringify([query, type, accept, size]))
  if (bodyBytes !== undefined) digest.update(bodyBytes)
  return digest.digest('hex')
}

/** W3C Trace Context §3.2: version 00, a trace and a span that are not zero, flags. */
const TRACEPARENT = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

/** Does the work of a request as a span that goes on with the trace of its caller. Route patterns, never URLs. */
async function traced(
  tracing: NonNullable<EdgeKernel['tracing']>,
  context: RequestContext,
  work: () => Promise<void>,
): Promise<void> {
  const method = context.incoming.method ?? ''
  const parent = parentOf(context)
  const facts = {
    name: `${method} ${context.pattern}`,
    kind: 'server' as const,
    attributes: { 'http.request.method': method, 'http.route': context.pattern },
    ...(parent === undefined ? {} : { parent }),
  }
  // A connection serves many: nothing that another request was a part of counts here.
  await tracing.detached(() =>
    tracing.span(facts, async (span) => {
      await work()
      span?.set('http.response.status_code', context.outgoing.statusCode)
    }),
  )
}

function parentOf({ incoming }: RequestContext): TraceParent | undefined {
  const { traceparent } = incoming.headers
  return typeof traceparent === 'string' && TRACEPARENT.test(traceparent) ? traceparent : undefined
}

/** What a page of somebody else makes a browser send. */
const foreignPage: ErrorFactory = defineError(
  'forbidden',
  403,
  'the request comes from a page of another origin, with the certificate of the browser; do it on a page of this service, or with a token',
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

/** From then on a request that was admitted is admitted once more before it changes something. */
const LATE_MS = 1_000

/** Serves one request from the door to the last byte. Never rejects. */
export async function serve(context: RequestContext, endpoint: Endpoint): Promise<void> {
  const { tracing } = context.core.kernel
  if (tracing?.isOn !== true) await exchange(context, endpoint)
  else await traced(tracing, context, () => exchange(context, endpoint))
}

async function exchange(context: RequestContext, endpoint: Endpoint): Promise<void> {
  try {
    const reply = await answer(context, endpoint)
    if (endpoint.checkResponse !== undefined) refuseUndocumented(reply, endpoint)
    const streamed = respond(context, conditional(context, endpoint, reply))
    if (streamed !== undefined) await streamed
  } catch (thrown) {
    fail(context, thrown)
  }
}

/** Answers with an error, whatever was thrown. What is not the client's fault goes to the log, once. */
export function fail(context: RequestContext, thrown: unknown): void {
  if (thrown instanceof ClientLeft || isOfDeparture(context, thrown)) {
    if (!context.outgoing.headersSent) context.outgoing.destroy()
    return
  }
  const error = answerableError(thrown, context.core.errors())
  if (error.status >= 500) {
    const facts = {
      request_id: context.id,
      route: context.pattern,
      code: error.code,
      err: error.cause ?? thrown,
    }
    context.core.kernel.log.error(facts, 'request failed')
  }
  try {
    context.core.shares.done(context)
    if (error.status === 429) context.rate ??= rateOfRefusal(error)
    respondError(context, error)
  } catch {
    context.outgoing.destroy()
  }
}

/** Whether it is the end of what was done for a client that has left, by the signal that says so. */
function isOfDeparture({ isOver, outgoing }: RequestContext, thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === 'AbortError' && (isOver || outgoing.destroyed)
}

async function answer(context: RequestContext, endpoint: Endpoint): Promise<Reply> {
  if (endpoint.route.role !== 'public') {
    const admitted = authenticate(context, endpoint)
    if (admitted !== undefined) await admitted
  }
  if (!mayUse(endpoint, context.principal, context.params)) await deny(context, endpoint)
  if (endpoint.isMutating) refuseForeignPage(context.principal, context.incoming.headers)
  if (endpoint.route.urgent !== true) {
    const turn = context.core.shares.admit(context)
    if (turn !== undefined) await turn
  }
  // It left while it waited, or its plugin did.
  if (context.isOver || context.outgoing.headersSent) throw new ClientLeft('the client left')
  if (!endpoint.isMutating) {
    validateUrl(context, endpoint)
    return await handle(context, endpoint)
  }
  const isHeeded = await takeUnrefusable(context, endpoint)
  if (!isHeeded) await takeValid(context, endpoint)
  if (isLate(context)) await admitAgain(context, endpoint)
  if (isHeeded) return await answerEachTime(context, endpoint, () => handle(context, endpoint))
  const claim = claimOf(context, endpoint)
  if (claim === undefined) return await handle(context, endpoint)
  return await answerOnce(context, claim, () => handle(context, endpoint))
}

/** URL and body, checked. What is refused here the route may have to tell of. */
async function takeValid(context: RequestContext, endpoint: Endpoint): Promise<void> {
  try {
    validateUrl(context, endpoint)
    await takeBody(context, endpoint)
    validateBody(context, endpoint)
  } catch (error) {
    // RequestContext is a Request; its parts are unchecked, as the route was told.
    if (isServiceError(error)) await endpoint.route.onRefused?.(context as never, error)
    throw error
  }
}

function isLate({ core, startedMs }: RequestContext): boolean {
  return core.kernel.clock.monotonicMs() - startedMs >= LATE_MS
}

/** A body comes as slowly as its sender likes: what was taken from somebody meanwhile is asked for once more. */
async function admitAgain(context: RequestContext, endpoint: Endpoint): Promise<void> {
  if (endpoint.route.role === 'public') return
  const admitted = authenticate(context, endpoint)
  if (admitted !== undefined) await admitted
  if (!mayUse(endpoint, context.principal, context.params)) await deny(context, endpoint)
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

function handle(context: RequestContext, endpoint: Endpoint): Promise<Reply> {
  // Params, query and body were checked against the schemas that the handler's types stand for.
  const reply = endpoint.route.handle(context as never)
  return context.core.kernel.db.mayMissRows() ? reply.catch(asHidden) : reply
}

/** What a damaged store did not find may be there. */
function asHidden(thrown: unknown): never {
  throw isServiceError(thrown) && thrown.status === 404 ? rowsHidden({ cause: thrown }) : thrown
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

function refuseUndocumented(reply: Reply, endpoint: Endpoint): void {
  const { route, checkResponse } = endpoint
  const status = reply.status ?? 200
  const { body } = reply
  if (reply.stream !== undefined || body instanceof Uint8Array) return
  if (typeof body !== 'object' || status >= 400) return
  const details = checkResponse?.(JSON.parse(JSON.stringify(body)), true)
  if (details === undefined) return
  const what = details.map((detail) => `${detail.pointer} ${detail.message}`).join('; ')
  throw new Error(`the answer of ${route.method} ${route.path} does not fit its schema: ${what}`)
}

function isPromise<T extends object>(value: T | Promise<T>): value is Promise<T> {
  return 'then' in value
}

/**
 * What the limit said that refused a request: it hangs on the `rate_limited` of the kernel and of `overLimit`.
 *
 * Undefined for a refusal that no named limit made (a login that was tried too often).
 */
function rateOfRefusal(error: ServiceError & { readonly rate?: unknown }): EdgeRate | undefined {
  return isRateState(error.rate) ? error.rate : undefined
}

function isRateState(value: unknown): value is EdgeRate {
  if (typeof value !== 'object' || value === null) return false
  return 'limit' in value && 'remaining' in value && 'resetS' in value
}
