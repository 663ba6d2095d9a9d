import { reachOf } from '@steeple/contracts'

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
