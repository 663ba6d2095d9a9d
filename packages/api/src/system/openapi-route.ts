import { type Route, route } from '@steeple/contracts'
import type { EdgeCore } from '../edge-core.ts'
import type { Endpoint } from '../host/endpoint.ts'
import { openapiDocument } from '../openapi/document.ts'

/** `GET /v1/openapi.json`: the document of the routes that serve now, made once per set of routes. */
export function openapiRoute(core: EdgeCore, live: () => readonly Endpoint[]): Route {
  let made: { readonly of: readonly Endpoint[]; readonly text: string } | undefined
  return route({
    method: 'GET',
    path: '/v1/openapi.json',
    role: 'public',
    summary: 'This API as an OpenAPI 3.1 document',
    schema: { response: { type: 'object' } },
    handle: async () => {
      const endpoints = live()
      if (made?.of !== endpoints) {
        made = { of: endpoints, text: JSON.stringify(openapiDocument(endpoints, core.kernel.info.version)) }
      }
      return { body: made.text, headers: { 'Content-Type': 'application/json; charset=utf-8' } }
    },
  })
}
