import { createPublicKey, type KeyObject } from 'node:crypto'

/** So many are remembered: the eUICCs of downloads that are under way. */
const MOST = 512

/** Public keys by their text, so that one is read once in a session: that costs as much as a signature. */
export interface PublicKeys {
  /** The key of a SubjectPublicKeyInfo (DER) that was verified before. */
  of(spki: Uint8Array): KeyObject
  keep(spki: Uint8Array, key: KeyObject): void
}

/** Remembers the newest ones. */
export function publicKeys(): PublicKeys {
  const kept = new Map<string, KeyObject>()
  const nameOf = (spki: Uint8Array): string =>
    Buffer.from(spki.buffer, spki.byteOffset, spki.length).toString('latin1')
  const put = (name: string, key: KeyObject): KeyObject => {
    kept.set(name, key)
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST) break
      kept.delete(oldest)
    }
    return key
  }
  return {
    of: (spki) => {
      const name = nameOf(spki)
      const known = kept.get(name)
      return known ?? put(name, createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' }))
    },
    keep: (spki, key) => void put(nameOf(spki), key),
  }
}
