import { isIP } from 'node:net'
import { defineError, type ErrorFactory } from '@steeple/contracts'

/** The page, or who asks, can have no passkeys; the message says why and what works in their place. */
export const passkeyUnavailable: ErrorFactory = defineError('passkey_unavailable', 409, '%s')
/** A user has no passkey of that id. */
export const passkeyNotFound: ErrorFactory = defineError(
  'passkey_not_found',
  404,
  'there is no passkey %s; look for it in the list of passkeys',
)

/** To whom a passkey belongs: the host name of the page, and the page's origin. W3C WebAuthn Level 3 §4, "RP ID". */
export interface RelyingParty {
  readonly id: string
  readonly origin: string
}

const INSTEAD = 'or log in with password and code (POST /v1/auth/login), which works at every address'
/** RFC 1123 §2.1. */
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * The relying party that the page at `origin` stands for, asked through `host`.
 *
 * A browser gives passkeys to pages with a host name alone, over TLS or on `localhost`: W3C WebAuthn Level 3 §5.1.3 step 8
 * ("effective domain") and W3C Secure Contexts §3.1. The page must be this service's own: another site's has another name
 * than the one under which it is asked.
 *
 * Throws `passkey_unavailable` with what to do.
 */
export function relyingPartyOf(origin: string | undefined, host: string | undefined): RelyingParty {
  const url = origin === undefined ? null : URL.parse(origin)
  if (url === null || url.origin !== origin)
    throw passkeyUnavailable(
      `passkeys are for pages in a browser, which say their Origin; use one, ${INSTEAD}`,
    )
  const name = url.hostname
  if (isIP(name.replace(/^\[|\]$/g, '')) !== 0)
    throw passkeyUnavailable(
      `passkeys need a host name and ${name} is an address; open this page by a name of the box with https, ${INSTEAD}`,
    )
  if (url.host !== host?.toLowerCase() || !HOST_NAME.test(name))
    throw passkeyUnavailable(
      `the page is of ${url.host} and the service was asked as ${host ?? 'nobody'}; a proxy in between has to keep the Host header`,
    )
  const isLocal = name === 'localhost' || name.endsWith('.localhost')
  if (url.protocol !== 'https:' && !(isLocal && url.protocol === 'http:'))
    throw passkeyUnavailable(`passkeys need https; open https://${name} (key tls.enabled), ${INSTEAD}`)
  return { id: name, origin }
}
