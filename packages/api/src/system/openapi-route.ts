import { type Route, route } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { Endpoint } from '../host/endpoint.ts'
import { openapiDocument } from '../openapi/document.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { documentReply, type Packed, packDocument } from './packed-document.ts'

/** `GET /v1/openapi.json`: the document of the routes that serve now, made once per set of routes. */
export function openapiRoute(core: EdgeCore, live: () => readonly Endpoint[]): Route {
  let made: { readonly of: readonly Endpoint[]; readonly packed: Packed } | undefined
  return route({
    method: 'GET',
    path: '/v1/openapi.json',
    role: 'public',
    summary: 'This API as an OpenAPI 3.1 document',
    description: 'Made from the routes that serve now: a part that is left out or not loaded has none.',
    schema: { response: { type: 'object' } },
    conditional: true,
    handle: async (request: RequestContext) => {
      const endpoints = live()
      if (made?.of !== endpoints) {
        const text = JSON.stringify(openapiDocument(endpoints, core.kernel.info.version))
        made = { of: endpoints, packed: packDocument(text) }
      }
      return documentReply(request, made.packed, { 'Content-Type': 'application/json; charset=utf-8' })
    },
  })
}
