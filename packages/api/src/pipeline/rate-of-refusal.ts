import { DEFAULT_RATE_LIMITS, policyRef, type RateLimitName, type ServiceError } from '@steeple/contracts'
import type { RateState } from '@steeple/kernel'
import type { Exchange } from './exchange.ts'

/**
 * The state of the limit that refused a request: its number from the policy in force, nothing remaining.
 *
 * Undefined for a refusal that no named limit made (a login that was tried too often).
 */
export function rateOfRefusal(exchange: Exchange, error: ServiceError): RateState | undefined {
  const route = exchange.endpoint?.route
  const name = route?.method === 'GET' ? undefined : route?.rateLimit?.name
  if (name === undefined) return undefined
  const limit = limitOf(exchange, name)
  if (limit === undefined) return undefined
  return { limit, remaining: 0, resetS: Math.max(1, Math.ceil(error.retryAfterS ?? 1)) }
}

function limitOf(exchange: Exchange, name: string): number | undefined {
  if (!isLimitName(name)) return undefined
  const rates = exchange.core.kernel.service(policyRef)?.bundle().rate_limits
  return rates?.[`${name}_per_hour`] ?? DEFAULT_RATE_LIMITS[name]
}

function isLimitName(name: string): name is RateLimitName {
  return name in DEFAULT_RATE_LIMITS
}
