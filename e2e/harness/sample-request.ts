import { CONTRACT_ROUTES, type ContractRoute } from './contract-roles.ts'
import type { Operation } from './openapi.ts'

/** A request to a route: its path and its body. */
export type Sample = ContractRoute['sample']

/** A request that is well formed; of a route that the matrix does not have, its example, with `id` in its path. */
export function sampleOf({ method, path, object }: Operation, id: string): Sample {
  const known = CONTRACT_ROUTES.find((route) => route.method === method && route.path === path)
  const { example } = object.requestBody?.content['application/json'] ?? {}
  return known?.sample ?? { path: path.replaceAll(/\{[^}]+\}/g, id), body: example }
}
