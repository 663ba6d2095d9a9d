import type { ServiceError } from '@steeple/contracts'
import type { EdgeRate } from './rate-headers.ts'

/**
 * What the limit said that refused a request: it hangs on the `rate_limited` of the kernel and of `overLimit`.
 *
 * Undefined for a refusal that no named limit made (a login that was tried too often).
 */
export function rateOfRefusal(error: ServiceError & { readonly rate?: unknown }): EdgeRate | undefined {
  return isRateState(error.rate) ? error.rate : undefined
}

function isRateState(value: unknown): value is EdgeRate {
  if (typeof value !== 'object' || value === null) return false
  return 'limit' in value && 'remaining' in value && 'resetS' in value
}
