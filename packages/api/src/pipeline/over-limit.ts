import { rateLimited, type ServiceError } from '@steeple/contracts'
import type { EdgeRate } from './rate-headers.ts'

/** The `rate_limited` of a limit of the edge's own, with what the RateLimit header fields say of it. */
export function overLimit(message: string, rate: Required<EdgeRate>): ServiceError {
  return Object.assign(rateLimited(message, { retryAfterS: rate.resetS }), { rate })
}
