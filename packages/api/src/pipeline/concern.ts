import type { Reply } from '@steeple/contracts'
import type { FastifyInstance, FastifyPluginCallback, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { EdgeCore } from '../edge-core.ts'
import type { Endpoint } from '../host/endpoint.ts'
import type { Generation } from '../host/generation.ts'
import type { RequestContext } from './request-context.ts'

declare module 'fastify' {
  interface FastifyRequest {
    context: RequestContext
  }
  interface FastifyContextConfig {
    readonly endpoint?: Endpoint
  }
}

/** Makes what fastify sends: a `Reply` of the contracts, until `answer` puts it into HTTP. */
export type Handler = (request: FastifyRequest) => Promise<Reply>

/** What the plugins of a generation are registered with. */
interface Shared {
  readonly core: EdgeCore
  readonly generation: Generation
}

export type Concern = FastifyPluginCallback<Shared>

/** A concern of a request as a plugin of fastify: its hooks hold for every route, and run behind those of its dependencies. */
export function concern(
  name: string,
  dependencies: readonly string[],
  add: (app: FastifyInstance, core: EdgeCore, generation: Generation) => void,
): Concern {
  return fp<Shared>(
    (app, { core, generation }, done) => {
      add(app, core, generation)
      done()
    },
    { name, dependencies: [...dependencies], fastify: '5.x' },
  )
}
