import type { ServiceError } from '@steeple/contracts'
import type { RateState } from '@steeple/kernel'

/**
 * What the limit said that refused a request: the kernel hangs it on `rate_limited`.
 *
 * Undefined for a refusal that no named limit made (a login that was tried too often).
 */
export function rateOfRefusal(error: ServiceError & { readonly rate?: unknown }): RateState | undefined {
  return isRateState(error.rate) ? error.rate : undefined
}

function isRateState(value: unknown): value is RateState {
  if (typeof value !== 'object' || value === null) return false
  return 'limit' in value && 'remaining' in value && 'resetS' in value
}
