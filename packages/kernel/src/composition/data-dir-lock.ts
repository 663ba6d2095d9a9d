import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { dataDirInUse, type Settings } from '@steeple/contracts'
import { openSqliteConnection, sqliteError } from '@steeple/store'

/**
 * Takes the data directory for this process until `release` or its end, however it ends.
 *
 * Two services on one directory would fork the audit chain. The lock is SQLite's own on `<data_dir>/svc.lock`, which
 * the operating system drops when the process dies. Throws `data_dir_in_use` when another process holds it,
 * `store_unavailable` when the disk does not allow to take it (full, read-only).
 */
export function lockDataDir(dataDir: string): { release(): void } {
  return lockFile(join(dataDir, 'svc.lock'), dataDir)
}

/**
 * Takes the data directory and the file of the store, wherever that is and by whatever path: another data directory may
 * name the same one. Throws as `lockDataDir`.
 */
export function lockPlace(dataDir: string, url: string): { release(): void } {
  const directory = lockDataDir(dataDir)
  const file = fileOf(url)
  if (file === undefined) return directory
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const store = lockFile(`${realPath(file)}.lock`, file)
    return {
      release: () => {
        store.release()
        directory.release()
      },
    }
  } catch (error) {
    directory.release()
    throw error
  }
}

/** Of a file that may not be there yet. */
function realPath(file: string): string {
  return existsSync(file) ? realpathSync(file) : join(realpathSync(dirname(file)), basename(file))
}

function lockFile(path: string, what: string): { release(): void } {
  const connection = openSqliteConnection(path, 'write')
  try {
    connection.pragma('busy_timeout = 0')
    connection.pragma('locking_mode = exclusive')
    connection.exec('begin exclusive')
  } catch (error) {
    connection.close()
    const isTaken = String((error as { code?: unknown }).code).startsWith('SQLITE_BUSY')
    throw isTaken ? dataDirInUse(what, { cause: error }) : sqliteError(error)
  }
  return {
    release: () => {
      connection.close()
    },
  }
}

/** The address of the store: `store.url`, or a SQLite file in the data directory. */
export function storeUrlOf({ store, server }: Settings): string {
  return store.url === '' ? `sqlite:${join(server.data_dir, 'svc.db')}` : store.url
}

/** The file of the store; undefined when it is none. */
export function fileOfStore(settings: Settings): string | undefined {
  return fileOf(storeUrlOf(settings))
}

/** The file that an address of a store names; undefined when it names none. */
export function fileOf(url: string): string | undefined {
  return url.startsWith('sqlite:') ? url.slice('sqlite:'.length) : undefined
}
