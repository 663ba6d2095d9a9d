import { createPublicKey } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A home network key of `<data_dir>/keys`; the service's core renders the private one for its UDM. */
const KEY_FILE = /^hnet-(\d{1,3})\.key$/
const SCHEMES: Readonly<Record<string, number>> = { x25519: 1, ec: 2 }
/** Octets of a public key at the end of its DER form: X25519, and P-256 uncompressed without its first octet. */
const X25519_OCTETS = 32
const P256_OCTETS = 64

/**
 * What a card needs to conceal who it is: EF.SUCI_Calc_Info as pySim writes it (TS 31.102 §4.4.11.8), with those public home
 * network keys of this node that the core's UDM is given, by their ids: nobody else could tell who the card is. Undefined when there
 * is none. Never a private key.
 */
export async function suciInfo(dataDir: string, ids: ReadonlySet<number>): Promise<object | undefined> {
  const directory = join(dataDir, 'keys')
  const files = await readdir(directory).catch(() => [])
  const keys: { readonly id: number; readonly scheme: number; readonly publicKey: string }[] = []
  for (const file of files.toSorted()) {
    const id = Number(KEY_FILE.exec(file)?.[1] ?? 0)
    if (!ids.has(id)) continue
    const key = createPublicKey(await readFile(join(directory, file)))
    const scheme = SCHEMES[key.asymmetricKeyType ?? '']
    if (scheme === undefined) continue
    const der = key.export({ format: 'der', type: 'spki' })
    const publicKey =
      scheme === 1 ? der.subarray(-X25519_OCTETS).toString('hex') : compressed(der.subarray(-P256_OCTETS))
    keys.push({ id, scheme, publicKey })
  }
  if (keys.length === 0) return undefined
  return {
    prot_scheme_id_list: keys.map(({ scheme }, index) => ({
      priority: index,
      identifier: scheme,
      key_index: index + 1,
    })),
    hnet_pubkey_list: keys.map(({ id, publicKey }) => ({
      hnet_pubkey_identifier: id,
      hnet_pubkey: publicKey,
    })),
  }
}

/** SEC 1 §2.3.3: an even or odd y is all that has to be told of it. */
function compressed(point: Buffer): string {
  const x = point.subarray(0, P256_OCTETS / 2)
  const isOdd = ((point.at(-1) ?? 0) & 1) === 1
  return `${isOdd ? '03' : '02'}${x.toString('hex')}`
}
