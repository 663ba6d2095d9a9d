import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { type Clock, type Finding, isServiceError, type Settings, secretsInvalid } from '@steeple/contracts'
import {
  fileOfStore,
  isRestorePending,
  missingStore,
  type OfflineStore,
  offlineTables,
  openOffline,
  readLease,
} from '@steeple/kernel'
import { openSecrets } from '@steeple/secrets'
import { scanIntegrity } from '@steeple/store'
import { pluginPackages } from '../composition/plugin-packages.ts'
import { commandLog } from '../offline/own-store.ts'
import { pluginsDirOf } from '../place.ts'
import type { Terminal } from '../terminal.ts'
import { doubtful, broken as failed, healthy, reasonOf } from './check.ts'

const INTEGRITY_LIMIT_MS = 20_000
const MEBIBYTE = 1024 * 1024
/** SQLite needs room for its log and a checkpoint. */
const FULL_MEBIBYTES = 100
const LOW_MEBIBYTES = 1024

/** Whether the store opens, answers and is whole: file, rows and audit trail. Changes nothing. */
export async function checkStore(terminal: Terminal, settings: Settings, clock: Clock): Promise<Finding> {
  const file = fileOfStore(settings)
  if (isRestorePending(settings.server.data_dir))
    return doubtful('store', 'a restore was decided and is not complete', 'the next start completes it')
  try {
    if (file !== undefined && !existsSync(file)) return absent(settings, file)
    const secrets = openSecrets(settings.server.data_dir)
    const store = await openOffline({ settings, secrets, clock, log: commandLog(terminal), use: 'read' })
    try {
      const reason = await store.db.probe()
      if (reason !== undefined) return failed('store', reason, remedyOf(file))
      const problems = await problemsOf(store, settings)
      if (problems.length > 0) return failed('store', problems.slice(0, 3).join('; '), remedyOf(file))
      return healthy('store', file ?? `PostgreSQL answers; ${await leaderWords(store)}`)
    } finally {
      await store.close()
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError')
      return doubtful('store', 'too large to check in 20 s', 'the running service checks it too: svc health')
    return failed('store', reasonOf(error), isAboutKeys(error) ? KEYS_REMEDY : remedyOf(file))
  }
}

async function leaderWords({ db }: OfflineStore): Promise<string> {
  const lease = await readLease(db)
  if (lease === undefined || lease.holder === '') return 'no instance leads'
  const isOver = lease.expires_at_ms < lease.now_ms
  return `${lease.name || 'its only instance'} ${isOver ? 'led until' : 'leads in'} epoch ${lease.epoch}`
}

/** A store that was there before is missed; one that never was is made. */
function absent(settings: Settings, file: string): Finding {
  const reason = missingStore(settings)
  if (reason === undefined) return doubtful('store', `there is no ${file} yet`, 'the first start makes it')
  return failed('store', reason, 'put the store back or restore the newest backup')
}

const KEYS_REMEDY =
  'put back the keys directory that belongs to this store, or name the data directory with --data-dir'

function isAboutKeys(error: unknown): boolean {
  return isServiceError(error) && error.code === secretsInvalid.code
}

async function problemsOf(store: OfflineStore, settings: Settings): Promise<readonly string[]> {
  const tables = await offlineTables({
    packages: pluginPackages(),
    pluginsDir: pluginsDirOf(settings),
    policy: () => settings.plugins,
  })
  const report = await scanIntegrity(store.db, tables, AbortSignal.timeout(INTEGRITY_LIMIT_MS))
  const rows = report.problems.map(({ table, reason }) => `${table}: ${reason}`)
  const trail = await store.audit.verify()
  return trail.ok ? rows : [...rows, `kernel_audit: ${trail.reason ?? 'the chain is broken'}`]
}

function remedyOf(file: string | undefined): string {
  return file === undefined ? 'check store.url and the database server' : 'restore the newest backup'
}

/** Room where the data directory is. */
export async function checkDisk(settings: Settings): Promise<Finding> {
  const dir = settings.server.data_dir
  try {
    const { bavail, bsize } = await statfs(dir)
    const free = Math.floor((bavail * bsize) / MEBIBYTE)
    const detail = `${free} MiB free in ${dir}`
    if (free < FULL_MEBIBYTES) return failed('disk', detail, 'make room: without it every change answers 503')
    if (free < LOW_MEBIBYTES) return doubtful('disk', detail, 'make room before it is full')
    return healthy('disk', detail)
  } catch (error) {
    return failed(
      'disk',
      reasonOf(error),
      'name the data directory of the service with --data-dir; svc node init makes a new one',
    )
  }
}
