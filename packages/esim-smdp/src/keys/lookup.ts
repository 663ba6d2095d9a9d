import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import type { Db, Reader, Vault } from '@steeple/contracts'
import type { Lookup } from '../parts.ts'
import { KEYS } from '../store/rows.ts'

const ID = 'lookup'
const ROW_ID = `esim_smdp_key/${ID}`
const KEY_OCTETS = 32

/**
 * HMAC-SHA-256 of texts that must be found again and must not be stored: matching ids and ICCIDs. Its key is drawn once,
 * when it is first needed, and sealed; of several instances one draws it. Throws `store_corrupt` when it does not open:
 * then no code can be found, and another key would make that last.
 */
export function lookupBy(db: Db, vault: Vault): Lookup {
  let key: Promise<KeyObject> | undefined
  const keyNow = (): Promise<KeyObject> => {
    key ??= openKey(db, vault)
    key.catch(() => {
      key = undefined
    })
    return key
  }
  return {
    mac: async (text) =>
      createHmac('sha256', await keyNow())
        .update(text, 'utf8')
        .digest(),
  }
}

async function openKey(db: Db, vault: Vault): Promise<KeyObject> {
  const known = await keyIn(db, vault)
  if (known !== undefined) return known
  return await db.write(async (tx) => {
    // Another instance may have been faster.
    const there = await keyIn(tx, vault)
    if (there !== undefined) return there
    const octets = randomBytes(KEY_OCTETS)
    try {
      if (await KEYS.insertNew(tx, { id: ID, key_sealed: vault.seal(octets, ROW_ID) }))
        return createSecretKey(octets)
    } finally {
      octets.fill(0)
    }
    const others = await keyIn(tx, vault)
    if (others === undefined) throw new Error('the key of the look-up was neither there nor could be added')
    return others
  })
}

async function keyIn(reader: Reader, vault: Vault): Promise<KeyObject | undefined> {
  const row = await KEYS.find(reader, { id: ID })
  if (row === undefined) return undefined
  const octets = vault.open(row.key_sealed, ROW_ID)
  try {
    return createSecretKey(octets)
  } finally {
    octets.fill(0)
  }
}
