import { isIP } from 'node:net'
import { reachOf } from '@steeple/contracts'
import { caOf } from './secret-file.ts'
import type { Target } from './target.ts'

const NEEDS_TLS = 'http:// is for receivers of this machine or of a private network; use https://'
const NEEDS_TLS_OF_MAIL =
  'encryption: none is for receivers of this machine or of a private network; use starttls or tls'
/** For a look at what would be sent. */
const NOTHING = { id: 'msg_none', body: '{"type":"alert.test","text":"","data":{"node":{"name":""}}}' }

/** The address that a URL names by number, as the resolver would give it; undefined when it has a name. */
export function literalOf({ url }: Pick<Target, 'url'>): Address | undefined {
  const address = hostOf(url)
  const family = isIP(address)
  return family === 0 ? undefined : { address, family: family === 6 ? 6 : 4 }
}

/** The host of a URL without the brackets of IPv6. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1')
}

/** Throws an Error that says why none of these addresses may be connected to, and what to do where anything can be done. */
export function judge(target: Target, addresses: readonly Address[]): void {
  refuseForbidden(addresses, target.allowPrivate)
  if (!target.isEncrypted && addresses.some(({ address }) => reachOf(address) !== 'private'))
    throw new Error(needsTls(target))
}

function needsTls({ kind }: Target): string {
  return kind === 'mail' ? NEEDS_TLS_OF_MAIL : NEEDS_TLS
}

/**
 * What keeps every message from a receiver, as far as its fields and its files tell: an address that may not be
 * connected to, TLS that is missing, a secret, a header or a CA that cannot be used. Rejects with an Error that says so.
 */
export async function refuseUseless(target: Target): Promise<void> {
  const literal = literalOf(target)
  if (literal !== undefined) judge(target, [literal])
  else if (!target.isEncrypted && !target.allowPrivate)
    throw new Error(`${needsTls(target)}, or say allow_private: true where its address is such a one`)
  await target.outgoing(NOTHING, 0, () => ({}))
  await caOf(target.caFile)
}

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
