import type { RateState } from '@steeple/kernel'

/** The limits of `policy.rate_limits` count per hour. Specification, Limits. */
const WINDOW_S = 3_600

/**
 * The RateLimit header fields of an answer to a limited route.
 *
 * Two spellings: `RateLimit-Limit`, `-Remaining` and `-Reset` (drafts up to 07, widely read) and the structured
 * fields `RateLimit` and `RateLimit-Policy`. Source: draft-ietf-httpapi-ratelimit-headers-10.
 */
export function rateHeaders(name: string, state: RateState): Readonly<Record<string, string>> {
  return {
    'RateLimit-Limit': String(state.limit),
    'RateLimit-Remaining': String(state.remaining),
    'RateLimit-Reset': String(state.resetS),
    'RateLimit-Policy': `"${name}";q=${state.limit};w=${WINDOW_S}`,
    RateLimit: `"${name}";r=${state.remaining};t=${state.resetS}`,
  }
}
