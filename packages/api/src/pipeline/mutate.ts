import type { MutationTx, Reply } from '@steeple/contracts'
import type { Mutation } from '@steeple/kernel'
import type { RequestContext } from './request-context.ts'

/** Runs the one mutation of a request: principal, audit action, owner, limit and idempotency claim come from it. */
export async function mutateFor(
  context: RequestContext,
  target: string,
  work: (tx: MutationTx) => Promise<Reply>,
): Promise<Reply> {
  const result = await context.core.kernel.mutations.run(mutationOf(context, target, work))
  context.rate = result.rate
  context.mutationReply = result.reply
  return result.reply
}

/** Takes from a limit beside the route's own. Throws `rate_limited`. */
export async function takeFor(context: RequestContext, name: string, cost: number): Promise<void> {
  const route = context.endpoint?.route
  await context.core.kernel.mutations.take({
    principal: context.principal,
    action: typeof route?.audit === 'string' ? route.audit : undefined,
    target: context.pattern,
    requestId: context.id,
    rateLimit: { name, cost },
  })
}

function mutationOf(context: RequestContext, target: string, work: Mutation['work']): Mutation {
  const { endpoint, claim } = context
  const route = endpoint?.route
  if (endpoint === undefined || route === undefined || route.method === 'GET') {
    throw new Error(`${context.pattern} is a reading route and cannot mutate`)
  }
  const limit = route.rateLimit
  // The body was checked against the schema that the route declares beside its cost function.
  const cost = limit?.cost?.(context.body as never) ?? 1
  return {
    principal: context.principal,
    action: typeof route.audit === 'string' ? route.audit : undefined,
    target,
    owner: endpoint.plugin,
    requestId: context.id,
    ...(claim === undefined ? {} : { idempotency: claim }),
    ...(limit === undefined ? {} : { rateLimit: { name: limit.name, cost } }),
    work,
  }
}
