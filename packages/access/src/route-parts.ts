import {
  defineError,
  type ErrorFactory,
  expandRoles,
  forbidden,
  type JsonSchema,
  type Principal,
  type Request,
  type Role,
  recordSchema,
  UUID_PATTERN,
} from '@steeple/contracts'

/** Nothing else is looked up: what stands in the place of an id by mistake must not get into the audit trail. */
export const ID_SCHEMA: JsonSchema = { type: 'string', pattern: UUID_PATTERN }
export const ID_PARAMS: JsonSchema = recordSchema({ id: ID_SCHEMA })
export interface IdParams {
  readonly id: string
}

/** Who made something, as it is answered. */
export const BY_SCHEMA: JsonSchema = recordSchema({
  kind: { type: 'string' },
  id: { type: 'string' },
  name: { type: 'string' },
})

/** Throws `forbidden` for a role that its giver lacks. Contract section 13. */
export function requireGivable(roles: readonly Role[], giver: Principal): void {
  const lacking = [...expandRoles(roles)].find((role) => !giver.roles.has(role))
  if (lacking !== undefined) throw forbidden(lacking)
}

/** What a page of somebody else makes a browser send. */
const foreignPage: ErrorFactory = defineError(
  'forbidden',
  403,
  'the request comes from a page of another origin; do it on a page of this service',
)
/** Values of `Sec-Fetch-Site` of what a page of this very service asks, or a person by hand. Fetch Metadata §2.4. */
const OWN_SITES: readonly string[] = ['same-origin', 'none']

/**
 * Refuses what a page of another origin makes a browser send: the cookie would go along with it from another port of
 * the same host, which `SameSite` takes for the same site. Throws `forbidden`.
 *
 * Browsers say where a POST is from (`Origin`, RFC 6454 §7.3, or `Sec-Fetch-Site`); a program that says neither holds
 * its cookies itself and cannot be tricked. The scheme is not compared: a proxy in front may have ended TLS.
 */
export function requireSameOrigin(request: Pick<Request, 'header'>): void {
  const site = request.header('sec-fetch-site')
  if (site !== undefined && !OWN_SITES.includes(site)) throw foreignPage()
  const origin = request.header('origin')
  if (origin === undefined) return
  const host = URL.canParse(origin) ? new URL(origin).host : undefined
  if (host === undefined || host !== request.header('host')?.toLowerCase()) {
    throw foreignPage()
  }
}
