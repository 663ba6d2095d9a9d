import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type AuditTrail,
  type Clock,
  type Log,
  type Settings,
  storeInvalid,
  type TableSpec,
} from '@steeple/contracts'
import { auditAnchor } from '../mutation/audit-anchor.ts'
import { createAuditTrail } from '../mutation/audit-trail.ts'
import { KERNEL_TABLES } from '../mutation/kernel-migrations.ts'
import { hostContracts } from '../plugins/contracts-copy.ts'
import { createLoader } from '../plugins/loader.ts'
import { createManifestReader } from '../plugins/manifest.ts'
import { type PluginSources, scanSources } from '../plugins/sources.ts'
import type { Secrets } from '../secrets/open-secrets.ts'
import { createVault, type KernelVault } from '../secrets/vault.ts'
import type { Database } from '../store/database.ts'
import { openDatabase } from '../store/open.ts'
import { lockDataDir } from './data-dir-lock.ts'

/** What `openOffline` opens. */
export interface OfflineOptions {
  readonly settings: Settings
  readonly secrets: Secrets
  readonly clock: Clock
  readonly log: Log
  /** `read`: beside a running service, and nothing may be changed. `exclusive`: while no service runs. */
  readonly use: 'read' | 'exclusive'
}

/** The store of a node without a running kernel. */
export interface OfflineStore {
  readonly db: Database
  readonly vault: KernelVault
  readonly audit: AuditTrail
  close(): Promise<void>
}

/** The address of the store: `store.url`, or a SQLite file in the data directory. */
export function storeUrlOf(settings: Settings): string {
  const { store, server } = settings
  return store.url === '' ? `sqlite:${join(server.data_dir, 'svc.db')}` : store.url
}

/**
 * Opens the store for a command. It is not migrated and never made.
 *
 * Throws `store_invalid` when there is none, `data_dir_in_use` when `exclusive` is asked for while a service runs.
 */
export async function openOffline(options: OfflineOptions): Promise<OfflineStore> {
  const { settings, secrets, clock, log, use } = options
  const url = storeUrlOf(settings)
  const file = url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
  if (file !== undefined && !existsSync(file))
    throw storeInvalid(`there is no store ${file}; the first start makes it`)
  const lock = use === 'exclusive' ? lockDataDir(settings.server.data_dir) : undefined
  try {
    const db = await openDatabase({ url, clock, log })
    const { auditKey } = secrets
    const anchor = auditAnchor(secrets.directory, auditKey)
    return {
      db,
      vault: createVault(secrets.keyring),
      audit: createAuditTrail({ db, clock, auditKey, anchor }),
      close: async () => {
        await db.close()
        lock?.release()
      },
    }
  } catch (error) {
    lock?.release()
    throw error
  }
}

/**
 * The checksummed tables of the kernel and of every plugin that can be imported. Their modules are imported, none is
 * set up. Tables of one that cannot be imported are left out.
 */
export async function offlineTables(sources: PluginSources): Promise<readonly TableSpec[]> {
  const { found } = await scanSources(createManifestReader(), sources)
  // One in a process of its own has no store.
  const inline = found.filter((plugin) => plugin.manifest.isolation === 'inline')
  const loader = createLoader(hostContracts().contractsUrl)
  try {
    const loaded = await Promise.allSettled(inline.map((plugin) => loader.load(plugin)))
    const plugins = loaded.filter((result) => result.status === 'fulfilled').map((result) => result.value)
    return [...KERNEL_TABLES, ...plugins.flatMap((plugin) => plugin.tables ?? [])]
  } finally {
    loader.close()
  }
}
