import { randomUUID } from 'node:crypto'
import {
  featureNotInstalled,
  forbidden,
  type MutationTx,
  type OwnQuestion,
  type OwnRoutes,
  type Page,
  type Principal,
  type Reply,
  type Request,
} from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import { mayUse, neededRole } from '../pipeline/authenticate.ts'
import { actionOf, mutationOf } from '../pipeline/request-context.ts'
import { checkedParts } from '../pipeline/validate.ts'
import { type Endpoint, fits } from './endpoint.ts'

/** One page holds all that a route gives without HTTP. */
const WHOLE_PAGE: Page = { limit: 10_000, after: undefined, cursor: () => '' }

/** The routes that serve now, asked from within. */
export function ownRoutes(core: EdgeCore, endpoints: () => readonly Endpoint[]): OwnRoutes {
  const find = (question: OwnQuestion) => {
    const asked = question.path.split('/')
    const endpoint = endpoints().find(
      ({ route }) => route.method === question.method && fits(route.path.split('/'), asked),
    )
    if (endpoint === undefined || endpoint.route.rawBody === true)
      throw featureNotInstalled(`${question.method} ${question.path}`)
    const { query = {}, body } = question
    const params = paramsOf(endpoint, asked)
    return { endpoint, parts: checkedParts(endpoint, { params, query, body }, core.checks) }
  }
  return {
    check: async (question) => void find(question),
    ask: async (principal, question, signal) => {
      const { endpoint, parts } = find(question)
      if (!mayUse(endpoint, principal, parts.params)) throw forbidden(neededRole(endpoint))
      const request = requestOf(core, endpoint, principal, parts, signal)
      // Checked against the schemas that the handler's types stand for.
      const { body, stream } = await endpoint.route.handle(request as never)
      if (stream !== undefined) throw new TypeError(`${question.path} answers with a stream`)
      return body
    },
  }
}

function paramsOf({ route }: Endpoint, asked: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    route.path
      .split('/')
      .flatMap((part, at) =>
        part.startsWith(':') ? [[part.slice(1), decodeURIComponent(asked[at] ?? '')]] : [],
      ),
  )
}

function requestOf(
  core: EdgeCore,
  endpoint: Endpoint,
  principal: Principal,
  parts: Pick<Request, 'params' | 'query' | 'body'>,
  signal: AbortSignal,
): Request {
  const { mutations } = core.kernel
  const id = randomUUID()
  return {
    ...{ id, principal, ...parts },
    peerAddress: '127.0.0.1',
    signal: AbortSignal.any([signal, endpoint.retiring]),
    header: () => undefined,
    page: () => WHOLE_PAGE,
    mutate: async (target: string, work: (tx: MutationTx) => Promise<Reply>): Promise<Reply> => {
      const { reply } = await mutations.run(mutationOf({ id, endpoint, principal, ...parts }, target, work))
      return reply
    },
    take: async (limit, cost) => {
      const rateLimit = { name: limit, cost }
      const target = endpoint.route.path
      await mutations.take({ principal, action: actionOf(endpoint), target, requestId: id, rateLimit })
    },
  }
}
