import { forbidden, type Reply } from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'
import { mayUse, neededRole } from './authorize.ts'
import { ClientLeft } from './body.ts'
import { answerableError } from './error-mapping.ts'
import type { Exchange } from './exchange.ts'
import { answerOnce, claimOf } from './idempotency.ts'
import { rateOfRefusal } from './rate-of-refusal.ts'
import { takeBody } from './read-body.ts'
import { respond, respondError } from './respond.ts'
import { validateBody, validateUrl } from './validate.ts'

/** Serves one request from the door to the last byte. Never rejects. */
export async function serve(exchange: Exchange, endpoint: Endpoint): Promise<void> {
  try {
    const reply = await answer(exchange, endpoint)
    if (endpoint.checkResponse !== undefined) refuseUndocumented(reply, endpoint)
    await respond(exchange, reply)
  } catch (thrown) {
    fail(exchange, thrown)
  }
}

/** Answers with an error, whatever was thrown. What is not the client's fault goes to the log, once. */
export function fail(exchange: Exchange, thrown: unknown): void {
  if (thrown instanceof ClientLeft) {
    exchange.outgoing.destroy()
    return
  }
  const error = answerableError(thrown)
  if (error.status >= 500) {
    const facts = {
      request_id: exchange.id,
      route: exchange.pattern,
      code: error.code,
      err: error.cause ?? thrown,
    }
    exchange.core.kernel.log.error(facts, 'request failed')
  }
  try {
    if (error.status === 429) exchange.rate ??= rateOfRefusal(error)
    respondError(exchange, error)
  } catch {
    exchange.outgoing.destroy()
  }
}

async function answer(exchange: Exchange, endpoint: Endpoint): Promise<Reply> {
  const admitted = exchange.core.authenticate(
    endpoint.route.role,
    exchange.incoming.headers.authorization,
    nodeIdOf(exchange),
  )
  exchange.principal = isPromise(admitted) ? await admitted : admitted
  if (!mayUse(endpoint, exchange.principal)) await deny(exchange, endpoint)
  validateUrl(exchange, endpoint)
  if (!endpoint.isMutating) return await handle(exchange, endpoint)
  await takeBody(exchange, endpoint)
  validateBody(exchange, endpoint)
  const claim = claimOf(exchange, endpoint)
  if (claim === undefined) return await handle(exchange, endpoint)
  return await answerOnce(exchange, claim, () => handle(exchange, endpoint))
}

function handle(exchange: Exchange, endpoint: Endpoint): Promise<Reply> {
  // Params, query and body were checked against the schemas that the handler's types stand for.
  return endpoint.route.handle(exchange as never)
}

/** Refuses for want of a role; an attempt to change something is audited. Target is the pattern, not the URL. */
async function deny(exchange: Exchange, endpoint: Endpoint): Promise<never> {
  const role = neededRole(endpoint)
  const { route } = endpoint
  if (route.method !== 'GET') {
    exchange.core.denials.count(exchange.principal)
    await exchange.core.kernel.mutations.refuse({
      principal: exchange.principal,
      action: typeof route.audit === 'string' ? route.audit : 'http.request',
      target: route.path,
      outcome: 'denied',
      requestId: exchange.id,
      detail: { method: route.method, needs: role },
    })
  }
  throw forbidden(role)
}

function refuseUndocumented(reply: Reply, endpoint: Endpoint): void {
  const { route, checkResponse } = endpoint
  const status = reply.status ?? 200
  if (reply.stream !== undefined || typeof reply.body !== 'object' || status >= 400) return
  const details = checkResponse?.(JSON.parse(JSON.stringify(reply.body)), true)
  if (details === undefined) return
  const what = details.map((detail) => `${detail.pointer} ${detail.message}`).join('; ')
  throw new Error(`the answer of ${route.method} ${route.path} does not fit its schema: ${what}`)
}

function nodeIdOf(exchange: Exchange): string | undefined {
  const { params } = exchange
  if (typeof params !== 'object' || params === null || !('id' in params)) return undefined
  return typeof params.id === 'string' ? params.id : undefined
}

function isPromise<T extends object>(value: T | Promise<T>): value is Promise<T> {
  return 'then' in value
}
