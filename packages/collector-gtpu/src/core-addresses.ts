import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Settings } from '@steeple/contracts'

/**
 * Who of a core ends tunnels of GTP-U, and at which address where the configuration names none: those of the stock
 * configurations of Open5GS and free5GC. The SMF of Open5GS answers router solicitations through the UPF.
 */
const ENDS: Readonly<Record<string, Readonly<Record<string, string | undefined>>>> = {
  core_a: { upf: '127.0.0.7', sgwu: '127.0.0.6', smf: '127.0.0.4', s1u: undefined, n3: undefined },
  core_b: { upf: '127.0.0.8', n3: undefined },
}

/** The addresses at which the core takes GTP-U: the configured ones, else those of the chosen core. */
export async function coreAddresses(
  { core, core_a: coreA, core_b: coreB }: Pick<Settings, 'core' | 'core_a' | 'core_b'>,
  configured: readonly string[],
): Promise<readonly string[]> {
  if (configured.length > 0) return configured
  const named = core === 'core_b' ? coreB.addresses : coreA.addresses
  const hosts = Object.entries(ENDS[core] ?? {}).map(([role, stock]) => named[role] ?? stock)
  const found = await Promise.all(hosts.map((host) => (host === undefined ? [] : addressesOf(host))))
  return [...new Set(found.flat())]
}

/** Of a name all that it stands for; a name that does not resolve is no address. */
async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host]
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address)
  } catch {
    return []
  }
}
