import type { Endpoint } from '../host/endpoint.ts'
import { COMPONENTS } from './components.ts'
import { errorCodes } from './error-codes.ts'
import { tagsOf } from './groups.ts'
import { operationOf } from './operation.ts'

type Json = Readonly<Record<string, unknown>>

/** The OpenAPI 3.1 document of the given endpoints. Pure: the same routes give the same document. */
export function openapiDocument(endpoints: readonly Endpoint[], version: string): Json {
  const paths: Record<string, Record<string, Json>> = {}
  const sorted = [...endpoints].sort((a, b) => (a.route.path < b.route.path ? -1 : 1))
  for (const endpoint of sorted) {
    const { route } = endpoint
    const path = route.path.replaceAll(/:([A-Za-z0-9_]+)/g, '{$1}')
    const operations = paths[path] ?? {}
    operations[route.method.toLowerCase()] = operationOf(endpoint)
    paths[path] = operations
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Steeple control plane',
      version,
      description:
        'REST API v1 of a mobile network in a box. Generated from the routes that serve now and the schemas that ' +
        'check requests. Enumerations in answers may grow within v1; error codes keep their meaning.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: tagsOf(endpoints),
    paths,
    components: COMPONENTS,
    'x-error-codes': errorCodes(endpoints.flatMap(({ errors }) => errors)),
  }
}
