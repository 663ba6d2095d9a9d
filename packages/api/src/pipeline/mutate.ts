import type { MutationTx, Reply } from '@steeple/contracts'
import type { Mutation } from '@steeple/kernel'
import type { Exchange } from './exchange.ts'

/** Runs the one mutation of a request: principal, audit action, owner, limit and idempotency claim come from it. */
export async function mutateFor(
  exchange: Exchange,
  target: string,
  work: (tx: MutationTx) => Promise<Reply>,
): Promise<Reply> {
  const result = await exchange.core.kernel.mutations.run(mutationOf(exchange, target, work))
  exchange.rate = result.rate
  exchange.mutationReply = result.reply
  return result.reply
}

function mutationOf(exchange: Exchange, target: string, work: Mutation['work']): Mutation {
  const { endpoint, claim } = exchange
  const route = endpoint?.route
  if (endpoint === undefined || route === undefined || route.method === 'GET') {
    throw new Error(`${exchange.pattern} is a reading route and cannot mutate`)
  }
  const limit = route.rateLimit
  // The body was checked against the schema that the route declares beside its cost function.
  const cost = limit?.cost?.(exchange.body as never) ?? 1
  return {
    principal: exchange.principal,
    action: typeof route.audit === 'string' ? route.audit : undefined,
    target,
    owner: endpoint.plugin,
    requestId: exchange.id,
    ...(claim === undefined ? {} : { idempotency: claim }),
    ...(limit === undefined ? {} : { rateLimit: { name: limit.name, cost } }),
    work,
  }
}
