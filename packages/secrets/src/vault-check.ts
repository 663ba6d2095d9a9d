import { join } from 'node:path'
import { isServiceError, type Reader, type SqlValue, secretsInvalid } from '@steeple/contracts'
import { type Database, isOtherSchema } from '@steeple/store'
import { KEY_FILES } from './node-files.ts'
import { type KernelVault, sealedKeyId } from './vault.ts'

/** The table of the one value that every start opens. Its text is known; that it opens proves the key. */
export const VAULT_CHECK_DDL: string =
  'create table kernel_vault (id text not null primary key, sealed bytea not null)'
const TABLE = 'kernel_vault'
const ROW = 'check'
const KNOWN = Buffer.from('steeple vault check')
const ROW_ID = `kernel_vault/${ROW}`
const FIND = `select sealed as value from kernel_vault where id = '${ROW}'`
const ADD = `insert into kernel_vault (id, sealed) values ('${ROW}', :sealed) on conflict (id)`

/**
 * Refuses a vault key that this store was not sealed with, before anything is sealed under it. A store that has no
 * known value yet gets one, after what is sealed in it already has named keys that are there.
 *
 * Throws `secrets_invalid`, `store_unavailable`.
 */
export async function proveVaultKey(db: Database, vault: KernelVault, directory: string): Promise<void> {
  vault.register({ table: TABLE, key: 'id', columns: ['sealed'] })
  const sealed = await knownValue(db)
  if (sealed !== undefined && opens(vault, sealed)) return
  const others = await namedKeys(db, vault)
  const foreign = others.find((id) => vault.keyring.find(id) === undefined)
  if (foreign !== undefined) throw wrongKey(vault, directory, foreign)
  // Where other values name keys that are here, it is the known one that is damaged.
  if (sealed !== undefined && others.length === 0) refuseForeign(vault, directory, sealed)
  const otherwise = sealed === undefined ? 'do nothing' : 'do update set sealed = excluded.sealed'
  await db.transact((tx) => tx.run(`${ADD} ${otherwise}`, { sealed: vault.seal(KNOWN, ROW_ID) }))
  // Of several instances one was first, perhaps with another key.
  const kept = await knownValue(db)
  if (kept !== undefined && !opens(vault, kept)) throw wrongKey(vault, directory, sealedKeyId(kept))
}

/** As `proveVaultKey`, for a command: writes nothing, and a store from before the known value passes. */
export async function checkVaultKey(reader: Reader, vault: KernelVault, directory: string): Promise<void> {
  const sealed = await knownValue(reader)
  if (sealed !== undefined && !opens(vault, sealed)) refuseForeign(vault, directory, sealed)
}

function opens(vault: KernelVault, sealed: Uint8Array): boolean {
  try {
    return KNOWN.equals(vault.open(sealed, ROW_ID))
  } catch {
    // Another key, or a damaged value: the caller tells them apart.
    return false
  }
}

async function knownValue(reader: Reader): Promise<Uint8Array | undefined> {
  return await cellOf<Uint8Array>(reader, FIND)
}

/** The keys that are named by one value of each column: a store is sealed under one, and under two during a rotation. */
async function namedKeys(reader: Reader, vault: KernelVault): Promise<readonly string[]> {
  const ids: string[] = []
  for (const { table, columns } of vault.registered()) {
    if (table === TABLE) continue
    for (const column of columns) {
      const select = `select ${column} as value from ${table} where ${column} is not null limit 1`
      const value = await cellOf<SqlValue>(reader, select)
      const id = value instanceof Uint8Array ? sealedKeyId(value) : undefined
      if (id !== undefined) ids.push(id)
    }
  }
  return ids
}

async function cellOf<T>(reader: Reader, sql: string): Promise<T | undefined> {
  try {
    return (await reader.get<{ readonly value: T }>(sql))?.value
  } catch (error) {
    if (isServiceError(error) && !isOtherSchema(error)) throw error
    // A table or column that no migration has made so far: a store that was begun anew, or that is older than this version.
    return undefined
  }
}

function refuseForeign(vault: KernelVault, directory: string, sealed: Uint8Array): void {
  const id = sealedKeyId(sealed)
  if (id === undefined || vault.keyring.find(id) === undefined) throw wrongKey(vault, directory, id)
}

function wrongKey(vault: KernelVault, directory: string, sealedUnder: string | undefined): Error {
  const path = join(directory, KEY_FILES.vaultKey)
  const named = sealedUnder === undefined ? 'another key' : `the key ${sealedUnder}`
  return secretsInvalid(
    `${path} (key ${vault.keyId}) is not the key of this store, which is sealed under ${named}; ` +
      'put back the whole keys directory of this store',
  )
}
