import { existsSync } from 'node:fs'
import { type Clock, type Log, messageOf, type Settings, storeInvalid } from '@steeple/contracts'
import {
  createKeyFile,
  createVault,
  type KernelVault,
  openSecrets,
  proveVaultKey,
  readKeyFile,
  removeKeyFile,
  type Secrets,
} from '@steeple/secrets'
import { acceptLoss, type Database, openDatabase, stampOf } from '@steeple/store'
import { auditBeginning } from '../audit/audit-beginning.ts'
import { auditSeal } from '../audit/audit-chain.ts'
import { type AuditAnchor, auditAnchor, settleAudit } from '../audit/audit-trail.ts'
import { type ClockKeeper, createClockKeeper, type Earliest, type Machine } from '../clock/clock-keeper.ts'
import type { JudgedClock } from '../clock/judged-clock.ts'
import { KERNEL_TABLES, kernelMigrations } from '../mutation/kernel-tables.ts'
import { type EpochReader, epochReader, termGuard } from '../reconcile/cluster.ts'
import { fileOf, lockDataDir, lockPlace, storeUrlOf } from './data-dir-lock.ts'

/** In the keys directory from `svc store new` until the new store stands. */
const PERMIT = 'new-store.permit'

const HAS_MIGRATIONS: Readonly<Record<Database['dialect'], string>> = {
  sqlite: "select 1 as one from sqlite_schema where type = 'table' and name = 'kernel_migration'",
  postgres: "select 1 as one where to_regclass('kernel_migration') is not null",
}

/** Whose keys they are, and where the store should be. */
interface StorePresence {
  readonly directory: string
  readonly anchor: AuditAnchor
  readonly dataDir: string
  readonly url: string
}

/**
 * Refuses to make a store where this node has had one: its file is missing. The anchor of the audit trail, in the keys
 * directory, remembers that there was one. Throws `store_invalid`.
 */
function refuseMissingStore(presence: StorePresence): void {
  const file = fileOf(presence.url)
  if (file !== undefined && !existsSync(file)) refuse(presence, `there is no store ${file}`)
}

/** The same for a store that is there and empty: another database, or one that was made anew. */
async function refuseEmptyStore(db: Database, presence: StorePresence): Promise<void> {
  if (await wasMigrated(db)) return
  refuse(presence, fileOf(presence.url) === undefined ? 'the database is empty' : 'the store is empty')
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
    return messageOf(error)
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
    `${what}, but this node has kept one${since}; restore it or a backup, ` +
      `or begin empty (svc store new --data-dir ${dataDir})`,
  )
}

/** Without the table of migrations there is nothing. */
async function wasMigrated(db: Database): Promise<boolean> {
  if ((await db.get(HAS_MIGRATIONS[db.dialect])) === undefined) return false
  return (await db.get('select 1 as one from kernel_migration limit 1')) !== undefined
}

/** What opening the store for a service takes. */
interface StoreOpening {
  readonly settings: Settings
  readonly secrets: Secrets
  readonly clock: JudgedClock
  readonly machine: Machine
  /** No clock is right that says a time before these. */
  readonly earliest: readonly Earliest[]
  readonly log: Log
  /** As of `ClockKeeperOptions`. */
  readonly moved: () => void
}

/** A store that this process alone serves, checked and up to date. */
export interface OpenStore {
  readonly db: Database
  readonly vault: KernelVault
  readonly epochIn: EpochReader
  readonly anchor: AuditAnchor
  readonly timekeeper: ClockKeeper
  /** What is wrong with the audit trail, as far as the start looks. */
  readonly auditFinding: string | undefined
  close(): Promise<void>
}

/**
 * Takes the data directory, opens the store, brings its tables up and checks that keys, store and clock belong
 * together. Throws `data_dir_in_use`, `store_invalid`, `secrets_invalid`; what it opened is closed then.
 */
export async function openStore(opening: StoreOpening): Promise<OpenStore> {
  const { settings, secrets, clock, log } = opening
  const { directory, auditKey } = secrets
  const dataDir = settings.server.data_dir
  const url = storeUrlOf(settings)
  const anchor = auditAnchor(directory, auditKey)
  const presence = { directory, anchor, dataDir, url }
  const lock = lockPlace(dataDir, url)
  const opened: { db?: Database } = {}
  const close = async (): Promise<void> => {
    await opened.db?.close()
    lock.release()
  }
  try {
    refuseMissingStore(presence)
    const epochIn = epochReader()
    const db = await openDatabase({ url, clock, log, guard: termGuard(epochIn) })
    opened.db = db
    await refuseEmptyStore(db, presence)
    const beginning = auditBeginning({ auditKey, anchor, clock })
    await db.migrate('kernel', kernelMigrations(db.dialect, beginning), KERNEL_TABLES)
    const vault = createVault(secrets.keyring)
    await proveVaultKey(db, vault, directory)
    const { instance } = settings.cluster
    // The clock is the machine's, and instances of one node have machines of their own.
    const nodeId = [secrets.identity.nodeId, ...(instance === '' ? [] : [instance])].join('/')
    const timekeeper = createClockKeeper({ ...opening, db, nodeId })
    await timekeeper.atStart()
    const auditFinding = await settleAudit({ db, seal: auditSeal(auditKey), anchor, clock, log })
    // Now that the store stands, the next one must be permitted anew.
    if (readKeyFile(directory, PERMIT) !== undefined) removeKeyFile(directory, PERMIT)
    return { db, vault, epochIn, anchor, timekeeper, auditFinding, close }
  } catch (error) {
    await close()
    throw error
  }
}
