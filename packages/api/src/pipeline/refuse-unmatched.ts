import { featureNotInstalled, methodNotAllowed, notFound, type ServiceError } from '@steeple/contracts'
import { fits, type RouteMemory } from '../host/endpoint.ts'
import type { RequestContext } from './request-context.ts'
import { fail } from './serve.ts'

/**
 * Answers a request that no route fits: the method is wrong (405 and `Allow`), the feature is not here (404
 * `feature_not_installed`), or there is nothing (404 `not_found`). Needs no credential: the document of all routes
 * is public.
 */
export function refuseUnmatched(context: RequestContext, memory: RouteMemory): void {
  fail(context, reasonOf(context, memory))
}

function reasonOf(context: RequestContext, memory: RouteMemory): ServiceError {
  const { path } = context
  const method = context.incoming.method ?? 'GET'
  const withdrawn = memory.withdrawn(method === 'HEAD' ? 'GET' : method, path)
  if (withdrawn !== undefined) return featureNotInstalled(withdrawn)
  const methods = memory.methodsOf(path)
  // A path whose method is among them did not fit for another reason: some escape in it.
  if (methods.length > 0 && !methods.includes(method)) {
    context.allow = methods.join(', ')
    return methodNotAllowed(method, context.allow)
  }
  const absent = context.core.kernel
    .features()
    .find(({ prefix }) => isUnder(path, prefix) && !memory.hasUnder(prefix))
  return absent === undefined ? notFound('such path') : featureNotInstalled(absent.plugin)
}

/** A prefix may have parameters: `/v1/sims/:imsi/quota`. */
function isUnder(path: string, prefix: string): boolean {
  const asked = path.split('/')
  const parts = prefix.split('/')
  return asked.length >= parts.length && fits(parts, asked.slice(0, parts.length))
}
