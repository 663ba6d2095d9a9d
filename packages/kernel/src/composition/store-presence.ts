import { existsSync } from 'node:fs'
import { type AuditAnchor, auditAnchor } from '@steeple/audit'
import { type Clock, type Settings, storeInvalid } from '@steeple/contracts'
import { createKeyFile, openSecrets, readKeyFile, removeKeyFile } from '@steeple/secrets'
import { acceptLoss, type Database, stampOf } from '@steeple/store'
import { lockDataDir, lockPlace } from './data-dir-lock.ts'
import { fileOf, storeUrlOf } from './store-url.ts'

/** In the keys directory from `svc store new` until the new store stands. */
const PERMIT = 'new-store.permit'

const HAS_MIGRATIONS: Readonly<Record<Database['dialect'], string>> = {
  sqlite: "select 1 as one from sqlite_schema where type = 'table' and name = 'kernel_migration'",
  postgres: "select 1 as one where to_regclass('kernel_migration') is not null",
}

/** Whose keys they are, and where the store should be. */
export interface StorePresence {
  readonly directory: string
  readonly anchor: AuditAnchor
  readonly dataDir: string
  readonly url: string
}

/**
 * Refuses to make a store where this node has had one: its file is missing. The anchor of the audit trail, in the keys
 * directory, remembers that there was one. Throws `store_invalid`.
 */
export function refuseMissingStore(presence: StorePresence): void {
  const file = fileOf(presence.url)
  if (file !== undefined && !existsSync(file)) refuse(presence, `there is no store ${file}`)
}

/** The same for a store that is there and empty: another database, or one that was made anew. */
export async function refuseEmptyStore(db: Database, presence: StorePresence): Promise<void> {
  if (await wasMigrated(db)) return
  refuse(presence, fileOf(presence.url) === undefined ? 'the database is empty' : 'the store is empty')
}

/** Once the store stands, the next one must be permitted anew. */
export function forgetPermit(directory: string): void {
  if (readKeyFile(directory, PERMIT) !== undefined) removeKeyFile(directory, PERMIT)
}

/**
 * Why the next start would not make the store that is missing: undefined when it would, or when there is one. For a
 * look from outside. Throws `secrets_invalid`.
 */
export function missingStore(settings: Settings): string | undefined {
  const dataDir = settings.server.data_dir
  const { directory, auditKey } = openSecrets(dataDir)
  try {
    const anchor = auditAnchor(directory, auditKey)
    refuseMissingStore({ directory, anchor, dataDir, url: storeUrlOf(settings) })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/**
 * Permits the next start to begin with a new store, without anything that the old one held. Says which it will be.
 *
 * Throws `data_dir_in_use` while a service runs, `store_invalid` while there is a store file.
 */
export function permitNewStore(settings: Settings): string {
  const dataDir = settings.server.data_dir
  const { directory } = openSecrets(dataDir)
  const url = storeUrlOf(settings)
  const lock = lockDataDir(dataDir)
  try {
    const file = fileOf(url)
    if (file !== undefined && existsSync(file))
      throw storeInvalid(`there is a store ${file}; move it away first, with its -wal file`)
    createKeyFile(directory, PERMIT, Buffer.from('the next start may make a new store\n'))
    return file ?? 'the database of store.url'
  } finally {
    lock.release()
  }
}

/**
 * Has the next start go on with what the store holds, although answered commits are missing from it. Gives what is lost, in words.
 * `before` runs once that is known, and before anything changes.
 *
 * Throws `data_dir_in_use` while a service runs, `store_invalid` when nothing is known to be lost, or the store cannot be read.
 */
export async function acceptStoreLoss(
  settings: Settings,
  clock: Clock,
  before: () => Promise<void>,
): Promise<string> {
  const url = storeUrlOf(settings)
  const file = fileOf(url)
  if (file === undefined)
    throw storeInvalid('PostgreSQL keeps what it has answered by itself; look at its log')
  const lock = lockPlace(settings.server.data_dir, url)
  try {
    return await acceptLoss(file, stampOf(clock.nowMs()), before)
  } finally {
    lock.release()
  }
}

function refuse({ directory, anchor, dataDir }: StorePresence, what: string): void {
  const record = anchor.read()
  if (record === undefined || readKeyFile(directory, PERMIT) !== undefined) return
  const sinceMs = record.beganAtMs[0]
  const since = sinceMs === undefined ? '' : ` since ${new Date(sinceMs).toISOString()}`
  throw storeInvalid(
    `${what}, but this node has kept one${since}: put it back, or restore a backup; ` +
      `to begin anew without its SIMs and its audit trail, run: svc store new --data-dir ${dataDir}`,
  )
}

/** Without the table of migrations there is nothing. */
async function wasMigrated(db: Database): Promise<boolean> {
  if ((await db.get(HAS_MIGRATIONS[db.dialect])) === undefined) return false
  return (await db.get('select 1 as one from kernel_migration limit 1')) !== undefined
}
