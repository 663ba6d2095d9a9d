import { createHmac } from 'node:crypto'
import { type Db, drawnKey, type Vault } from '@steeple/contracts'
import type { Lookup } from '../parts.ts'
import { KEYS } from '../store/rows.ts'

const ID = 'lookup'

/**
 * HMAC-SHA-256 of texts that must be found again and must not be stored: matching ids and ICCIDs. Throws `store_corrupt` when
 * its key does not open: then no code can be found, and another key would make that last.
 */
export function lookupBy(db: Db, vault: Vault): Lookup {
  const key = drawnKey(db, vault, {
    rowId: `esim_smdp_key/${ID}`,
    sealed: async (reader) => (await KEYS.find(reader, { id: ID }))?.key_sealed,
    keep: (tx, key_sealed) => KEYS.insertNew(tx, { id: ID, key_sealed }),
    isReplaced: false,
  })
  return {
    mac: async (text) =>
      createHmac('sha256', await key())
        .update(text, 'utf8')
        .digest(),
  }
}
