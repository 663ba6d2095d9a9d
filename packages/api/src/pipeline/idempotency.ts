import { createHash, hash } from 'node:crypto'
import {
  forbidden,
  idempotencyInProgress,
  idempotencyKeyReused,
  isServiceError,
  type Reply,
  rateLimited,
  unauthenticated,
  validationFailed,
} from '@steeple/contracts'
import type { IdempotencyClaim, StoredReply } from '@steeple/kernel'
import type { Endpoint } from '../host/endpoint.ts'
import { ANONYMOUS } from './authenticate.ts'
import { type Concern, concern, type Handler } from './concern.ts'
import type { RequestContext } from './request-context.ts'
import { replyFromError } from './respond.ts'

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
export async function answerEachTime(
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

/** Does once what a client asks for twice with one key: its handlers are called through here. */
export const idempotency: Concern = concern('idempotency', ['validation'], (app) => {
  app.addHook('onRoute', (route) => {
    const endpoint = route.config?.endpoint
    if (endpoint?.isMutating !== true) return
    // Those of routes are `handle` of pipeline.ts.
    const run = route.handler as Handler
    const once: Handler = async (request) => {
      const claim = claimOf(request.context, endpoint)
      return claim === undefined
        ? await run(request)
        : await answerOnce(request.context, claim, () => run(request))
    }
    route.handler = once
  })
})
