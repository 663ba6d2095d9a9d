import { createPublicKey } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { HomeNetworkKey, Settings } from '@steeple/contracts'

/** A home network key of `<data_dir>/keys`; the service's core renders the private one for its UDM. */
const KEY_FILE = /^hnet-(\d{1,3})\.key$/
const SCHEMES: Readonly<Record<string, number>> = { x25519: 1, ec: 2 }
/** Octets of a public key at the end of its DER form: X25519, and P-256 uncompressed without its first octet. */
const X25519_OCTETS = 32
const P256_OCTETS = 64

/** The home network keys that the core's UDM is given, by id: of the drivers for cores that of Open5GS alone gives any. */
export function homeKeysOf({ core, core_a: coreA }: Pick<Settings, 'core' | 'core_a'>): ReadonlySet<number> {
  return new Set(core === 'core_a' ? coreA.hnet.map(({ id }) => id) : [])
}

/**
 * Those public home network keys of this node that the core's UDM is given, by their ids: nobody else could tell who the card is.
 * Never a private key.
 */
export async function homeNetworkKeys(
  dataDir: string,
  ids: ReadonlySet<number>,
): Promise<readonly HomeNetworkKey[]> {
  if (ids.size === 0) return []
  const directory = join(dataDir, 'keys')
  const files = await readdir(directory).catch(() => [])
  const keys: HomeNetworkKey[] = []
  for (const file of files.toSorted()) {
    const id = Number(KEY_FILE.exec(file)?.[1] ?? 0)
    if (!ids.has(id)) continue
    const key = createPublicKey(await readFile(join(directory, file)))
    const scheme = SCHEMES[key.asymmetricKeyType ?? '']
    if (scheme === undefined) continue
    const der = key.export({ format: 'der', type: 'spki' })
    const publicKey = scheme === 1 ? der.subarray(-X25519_OCTETS) : compressed(der.subarray(-P256_OCTETS))
    keys.push({ id, scheme, publicKey: Uint8Array.from(publicKey) })
  }
  return keys
}

/** EF.SUCI_Calc_Info of a card as pySim writes it (TS 31.102 §4.4.11.8) with these keys; undefined when there is none. */
export async function suciInfo(dataDir: string, ids: ReadonlySet<number>): Promise<object | undefined> {
  const keys = await homeNetworkKeys(dataDir, ids)
  if (keys.length === 0) return undefined
  return {
    prot_scheme_id_list: keys.map(({ scheme }, index) => ({
      priority: index,
      identifier: scheme,
      key_index: index + 1,
    })),
    hnet_pubkey_list: keys.map(({ id, publicKey }) => ({
      hnet_pubkey_identifier: id,
      hnet_pubkey: Buffer.from(publicKey).toString('hex'),
    })),
  }
}

/** SEC 1 §2.3.3: an even or odd y is all that has to be told of it. */
function compressed(point: Buffer): Uint8Array {
  const isOdd = ((point.at(-1) ?? 0) & 1) === 1
  return Uint8Array.of(isOdd ? 3 : 2, ...point.subarray(0, P256_OCTETS / 2))
}
