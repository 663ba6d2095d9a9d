import { expandRoles, forbidden, type Principal, validationFailed } from '@steeple/contracts'
import type { TokenRequest } from './token-request.ts'

/**
 * What was asked for, as far as its maker has it: no role beyond the maker's, no life beyond that of the maker's own
 * credential. Asked for no end, the token ends with the maker's. Contract section 13.
 *
 * People and the environment's administrator come back with another credential: theirs bounds no life.
 *
 * `isLifeGiven`: the life was asked for, and is no default.
 * Throws `forbidden` for a role, `validation_failed` for a life that is too long.
 */
export function withinMaker(
  asked: TokenRequest,
  isLifeGiven: boolean,
  maker: Principal,
  nowMs: number,
): TokenRequest {
  const lacking = [...expandRoles(asked.roles)].find((role) => !maker.roles.has(role))
  if (lacking !== undefined) throw forbidden(lacking)
  if (maker.expiresAtMs === undefined || maker.kind === 'user' || maker.kind === 'admin-env') return asked
  const leftMs = maker.expiresAtMs - nowMs
  if (!isLifeGiven) return { ...asked, livesMs: Math.min(asked.livesMs ?? leftMs, leftMs) }
  if (asked.livesMs !== undefined && asked.livesMs <= leftMs) return asked
  const message = `must be at most ${Math.floor(leftMs / 1_000)}s: the token that makes it ends then`
  throw validationFailed(`/expires_in ${message}`, { details: [{ pointer: '/expires_in', message }] })
}
