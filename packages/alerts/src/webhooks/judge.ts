import { isIP } from 'node:net'
import { reachOf } from '@steeple/contracts'
import { authorizationOf, caOf, signingSecrets } from './secret-file.ts'
import type { Target } from './target.ts'

const NEEDS_TLS = 'http:// is for receivers of this machine or of a private network; use https://'

/** The address that a URL names by number, as the resolver would give it; undefined when it has a name. */
export function literalOf({ url }: Target): Address | undefined {
  const address = hostOf(url)
  const family = isIP(address)
  return family === 0 ? undefined : { address, family: family === 6 ? 6 : 4 }
}

/** The host of a URL without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Throws an Error that says why none of these addresses may be connected to, and what to do where anything can be done. */
export function judge({ url, allowPrivate }: Target, addresses: readonly Address[]): void {
  refuseForbidden(addresses, allowPrivate)
  if (url.protocol !== 'https:' && addresses.some(({ address }) => reachOf(address) !== 'private'))
    throw new Error(NEEDS_TLS)
}

/**
 * What keeps every message from a receiver, as far as its configuration and its files tell: an address that may not be
 * connected to, TLS that is missing, a secret, a header or a CA that cannot be used. Rejects with an Error that says so.
 */
export async function refuseUseless(target: Target): Promise<void> {
  const literal = literalOf(target)
  if (literal !== undefined) judge(target, [literal])
  else if (target.url.protocol !== 'https:' && !target.allowPrivate)
    throw new Error(`${NEEDS_TLS}, or say allow_private: true where its address is such a one`)
  await signingSecrets(target.secretFile)
  await authorizationOf(target.authorizationFile)
  await caOf(target.caFile)
}

/** An address to connect to. */
export interface Address {
  readonly address: string
  readonly family: 4 | 6
}

/** Throws an Error that says which address may not be connected to, and what to do where anything can be done. */
export function refuseForbidden(addresses: readonly Address[], allowPrivate: boolean): void {
  for (const { address } of addresses) {
    const reach = reachOf(address)
    if (reach === 'forbidden')
      throw new Error(
        `its address ${address} is link-local, of a metadata service or reserved, and is never connected to`,
      )
    if (reach === 'private' && !allowPrivate)
      throw new Error(
        `its address ${address} is of this machine or of a private network; allow_private: true lets it be one`,
      )
  }
}
