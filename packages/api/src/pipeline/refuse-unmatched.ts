import {
  featureNotInstalled,
  methodNotAllowed,
  notFound,
  OPTIONAL_FEATURES,
  type ServiceError,
} from '@steeple/contracts'
import type { RouteMemory } from '../host/route-memory.ts'
import type { Exchange } from './exchange.ts'
import { fail } from './serve.ts'

/**
 * Answers a request that no route fits: the method is wrong (405 and `Allow`), the feature is not here (404
 * `feature_not_installed`), or there is nothing (404 `not_found`). Needs no credential: the document of all routes
 * is public.
 */
export function refuseUnmatched(exchange: Exchange, memory: RouteMemory): void {
  fail(exchange, reasonOf(exchange, memory))
}

function reasonOf(exchange: Exchange, memory: RouteMemory): ServiceError {
  const { path } = exchange
  const method = exchange.incoming.method ?? 'GET'
  const withdrawn = memory.withdrawn(method === 'HEAD' ? 'GET' : method, path)
  if (withdrawn !== undefined) return featureNotInstalled(withdrawn)
  const methods = memory.methodsOf(path)
  // A path whose method is among them did not fit for another reason: some escape in it.
  if (methods.length > 0 && !methods.includes(method)) {
    exchange.allow = methods.join(', ')
    return methodNotAllowed(method, exchange.allow)
  }
  const absent = OPTIONAL_FEATURES.find(
    ({ pathPrefix }) => isUnder(path, pathPrefix) && !memory.hasUnder(pathPrefix),
  )
  return absent === undefined ? notFound('such path') : featureNotInstalled(absent.feature)
}

function isUnder(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`)
}
