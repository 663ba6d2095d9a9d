import type { RateState } from '@steeple/kernel'

/** The limits of `policy.rate_limits` count per hour. Specification, Limits. */
const POLICY_WINDOW_S = 3_600

/** State of a limit; `name` and `windowS` when it is the edge's own and not one of the policy. */
export interface EdgeRate extends RateState {
  readonly name?: string
  readonly windowS?: number
}

/**
 * The RateLimit header fields of an answer to a limited route.
 *
 * Two spellings: `RateLimit-Limit`, `-Remaining` and `-Reset` (drafts up to 07, widely read) and the structured
 * fields `RateLimit` and `RateLimit-Policy`. Source: draft-ietf-httpapi-ratelimit-headers-10.
 */
export function rateHeaders(name: string, state: EdgeRate): Readonly<Record<string, string>> {
  return {
    'RateLimit-Limit': String(state.limit),
    'RateLimit-Remaining': String(state.remaining),
    'RateLimit-Reset': String(state.resetS),
    'RateLimit-Policy': `"${name}";q=${state.limit};w=${state.windowS ?? POLICY_WINDOW_S}`,
    RateLimit: `"${name}";r=${state.remaining};t=${state.resetS}`,
  }
}
