import {
  bodyTooLarge,
  bootstrapTokenInvalid,
  certificateRevoked,
  ERROR_CATALOGUE,
  featureNotInstalled,
  forbidden,
  headersTooLarge,
  idempotencyInProgress,
  idempotencyKeyReused,
  internal,
  invalidCursor,
  invalidLimit,
  malformedJson,
  notReady,
  type Route,
  rateLimited,
  requestTimeout,
  storeCorrupt,
  storeUnavailable,
  tokenExpired,
  unauthenticated,
  unsupportedMediaType,
  validationFailed,
} from '@steeple/contracts'
import type { Endpoint } from '../host/endpoint.ts'

/** What any request can meet. */
const ALWAYS: readonly string[] = [
  validationFailed.code,
  headersTooLarge.code,
  internal.code,
  storeCorrupt.code,
  storeUnavailable.code,
  notReady.code,
]
const WITH_BODY: readonly string[] = [
  malformedJson.code,
  requestTimeout.code,
  bodyTooLarge.code,
  unsupportedMediaType.code,
]
const IDEMPOTENT: readonly string[] = [idempotencyKeyReused.code, idempotencyInProgress.code]

/** Statuses by code, for every code of the service's own. */
const STATUS_OF: ReadonlyMap<string, number> = new Map(
  ERROR_CATALOGUE.map((factory): [string, number] => [factory.code, factory.status]),
)

/** Whether the route honours an `Idempotency-Key`. */
export function isIdempotent(route: Route): boolean {
  return route.method !== 'GET' && route.role !== 'public' && route.path.startsWith('/v1/')
}

/** Every code that the endpoint can answer, by status, both in order. */
export function errorsByStatus(endpoint: Endpoint): ReadonlyMap<number, readonly string[]> {
  const grouped = new Map<number, string[]>()
  for (const code of new Set(codesOf(endpoint))) {
    const status = STATUS_OF.get(code) ?? endpoint.errors.find((one) => one.code === code)?.status
    if (status === undefined) continue
    const group = grouped.get(status) ?? []
    group.push(code)
    grouped.set(status, group)
  }
  return new Map([...grouped].sort(([a], [b]) => a - b).map(([status, codes]) => [status, codes.sort()]))
}

function codesOf({ route, isSystem, isMutating }: Endpoint): readonly string[] {
  return [
    ...ALWAYS,
    ...accessCodes(route),
    ...(isSystem ? [] : [featureNotInstalled.code]),
    ...(route.paged === true ? [invalidLimit.code, invalidCursor.code] : []),
    ...(isMutating ? WITH_BODY : []),
    ...(isIdempotent(route) ? IDEMPOTENT : []),
    ...(route.urgent === true && route.role === 'public' ? [] : [rateLimited.code]),
    ...(route.errors ?? []),
  ]
}

function accessCodes(route: Route): readonly string[] {
  if (route.role === 'public') return []
  const codes = [unauthenticated.code, tokenExpired.code, certificateRevoked.code, forbidden.code]
  return route.role === 'bootstrap' ? [...codes, bootstrapTokenInvalid.code] : codes
}
