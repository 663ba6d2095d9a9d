import { rateLimited, type ServiceError } from '@steeple/contracts'

/** A limit as the RateLimit header fields say it. draft-ietf-httpapi-ratelimit-headers-10. */
export interface Limit {
  readonly name: string
  readonly limit: number
  readonly windowS: number
}

/** The `rate_limited` of a limit that is used up, with what the header fields say of it. */
export function overLimit(
  message: string,
  { name, limit, windowS }: Limit,
  retryAfterS: number,
): ServiceError {
  // The edge reads `rate` off the error that it answers.
  const rate = { name, limit, windowS, remaining: 0, resetS: retryAfterS }
  return Object.assign(rateLimited(message, { retryAfterS }), { rate })
}
