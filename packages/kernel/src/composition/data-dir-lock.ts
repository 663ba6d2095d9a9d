import { join } from 'node:path'
import { dataDirInUse } from '@steeple/contracts'
import { openSqliteConnection } from '../store/sqlite-binding.ts'
import { sqliteError } from '../store/store-error.ts'

/**
 * Takes the data directory for this process until `release` or its end, however it ends.
 *
 * Two services on one directory would fork the audit chain. The lock is SQLite's own on `<data_dir>/svc.lock`, which
 * the operating system drops when the process dies. Throws `data_dir_in_use` when another process holds it,
 * `store_unavailable` when the disk does not allow to take it (full, read-only).
 */
export function lockDataDir(dataDir: string): { release(): void } {
  const connection = openSqliteConnection(join(dataDir, 'svc.lock'), 'write')
  try {
    connection.pragma('busy_timeout = 0')
    connection.pragma('locking_mode = exclusive')
    connection.exec('begin exclusive')
  } catch (error) {
    connection.close()
    const isTaken = String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')
    throw isTaken ? dataDirInUse(dataDir, { cause: error }) : sqliteError(error)
  }
  return {
    release: () => {
      connection.close()
    },
  }
}
