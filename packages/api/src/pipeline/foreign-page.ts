import type { IncomingHttpHeaders } from 'node:http'
import { defineError, type ErrorFactory, type Principal } from '@steeple/contracts'

/** What a page of somebody else makes a browser send. */
const foreignPage: ErrorFactory = defineError(
  'forbidden',
  403,
  'the request comes from a page of another origin, with the certificate of the browser; do it on a page of this service, or with a token',
)
/** Values of `Sec-Fetch-Site` of what a page of this very service asks, or a person by hand. Fetch Metadata §2.4. */
const OWN_SITES: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none'])

/**
 * Refuses what a page of another origin makes a browser change by the certificate that is imported there: the browser
 * presents it by itself, whoever's page asks. A token is in a request on purpose alone. Throws `forbidden`.
 *
 * Browsers say where such a request is from (`Origin`, RFC 6454 §7.3, or `Sec-Fetch-Site`); a program that says neither
 * holds its certificate itself and cannot be tricked.
 */
export function refuseForeignPage({ kind }: Principal, headers: IncomingHttpHeaders): void {
  if (kind !== 'cli' && kind !== 'node') return
  if (!OWN_SITES.has(headers['sec-fetch-site'])) throw foreignPage()
  const { origin } = headers
  if (origin === undefined) return
  // Without a host, as `null` is, it is nobody's page here.
  if (URL.parse(origin)?.host !== headers.host?.toLowerCase()) throw foreignPage()
}
