import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { storeCorrupt } from './error-catalogue.ts'
import { isServiceError } from './errors.ts'
import type { Vault } from './services.ts'
import type { Db, Reader, Tx } from './store.ts'

/** Where a plugin keeps a key that it has drawn for itself. */
export interface DrawnKeyPlace {
  /** AAD of the sealed key: `<table>/<key>`. */
  readonly rowId: string
  /** The sealed key; undefined when there is none. May throw `store_corrupt`. */
  sealed(reader: Reader): Promise<Uint8Array | undefined>
  /** Keeps it; false when another is there meanwhile. */
  keep(tx: Tx, sealed: Uint8Array): Promise<boolean>
  /** Whether a key that does not open is drawn anew. Otherwise all that hangs on it would be lost for good: it throws. */
  readonly isReplaced: boolean
}

const KEY_OCTETS = 32

/**
 * A secret key of 32 octets that is drawn once, when it is first needed, and kept sealed under the vault key; of several
 * instances one draws it. What this gives reads it once and tries again after a failure. It throws `store_corrupt` when the
 * key does not open and is not replaced.
 */
export function drawnKey(db: Db, vault: Vault, place: DrawnKeyPlace): () => Promise<KeyObject> {
  let key: Promise<KeyObject> | undefined
  return () => {
    key ??= openOrDraw(db, vault, place)
    key.catch(() => {
      key = undefined
    })
    return key
  }
}

async function openOrDraw(db: Db, vault: Vault, place: DrawnKeyPlace): Promise<KeyObject> {
  const known = await keyIn(db, vault, place)
  if (known !== undefined) return known
  return await db.write(async (tx) => {
    // Another instance may have been faster.
    const there = await keyIn(tx, vault, place)
    if (there !== undefined) return there
    const octets = randomBytes(KEY_OCTETS)
    try {
      if (await place.keep(tx, vault.seal(octets, place.rowId))) return createSecretKey(octets)
    } finally {
      octets.fill(0)
    }
    const others = await keyIn(tx, vault, place)
    if (others === undefined) throw new Error(`the key ${place.rowId} was neither there nor could be added`)
    return others
  })
}

async function keyIn(reader: Reader, vault: Vault, place: DrawnKeyPlace): Promise<KeyObject | undefined> {
  try {
    const sealed = await place.sealed(reader)
    if (sealed === undefined) return undefined
    const octets = vault.open(sealed, place.rowId)
    try {
      return createSecretKey(octets)
    } finally {
      octets.fill(0)
    }
  } catch (error) {
    if (place.isReplaced && isServiceError(error) && error.code === storeCorrupt.code) return undefined
    throw error
  }
}
