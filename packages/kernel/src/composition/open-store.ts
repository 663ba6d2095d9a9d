import { type AuditAnchor, auditAnchor, auditBeginning, auditSeal, settleAudit } from '@steeple/audit'
import {
  type ClockKeeper,
  createClockKeeper,
  type Earliest,
  type JudgedClock,
  type Machine,
} from '@steeple/clock'
import type { Log, Settings } from '@steeple/contracts'
import { type EpochReader, epochReader, termGuard } from '@steeple/reconcile'
import { createVault, type KernelVault, proveVaultKey, type Secrets } from '@steeple/secrets'
import { type Database, openDatabase } from '@steeple/store'
import { KERNEL_TABLES, kernelMigrations } from '../mutation/kernel-migrations.ts'
import { lockPlace } from './data-dir-lock.ts'
import { forgetPermit, refuseEmptyStore, refuseMissingStore } from './store-presence.ts'
import { storeUrlOf } from './store-url.ts'

/** What opening the store for a service takes. */
export interface StoreOpening {
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
    forgetPermit(directory)
    return { db, vault, epochIn, anchor, timekeeper, auditFinding, close }
  } catch (error) {
    await close()
    throw error
  }
}
