import {
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type Settings, syncFolderSync } from '@steeple/contracts'
import {
  COMING,
  isRestorePending,
  KEYS_FOLDER,
  loadPostgres,
  PENDING,
  PLUGINS_FOLDER,
  type RestorePlan,
  readPlan,
  STORE_FILE,
} from '@steeple/store'
import { auditTriggerSteps } from '../audit/audit-chain.ts'
import { lockDataDir, storeUrlOf } from '../composition/data-dir-lock.ts'
import { LEASE_DDL } from '../reconcile/election.ts'

/** The files of a store, the database itself last: as long as it stands, the old one is meant. */
const STORE_PARTS: readonly string[] = ['-committed', '-wal', '-shm', '-in-use', '']

/**
 * Brings a decided restore to its end, before anything of the node is read: what came takes the place of what was, which is
 * kept. Killed at any moment, the next call goes on. Gives the directory that keeps what was; undefined when there was
 * nothing to do. Throws `data_dir_in_use`, `store_unavailable` (PostgreSQL).
 */
export async function completeRestore(settings: Settings): Promise<string | undefined> {
  const dataDir = settings.server.data_dir
  if (!isRestorePending(dataDir)) return undefined
  const lock = lockDataDir(dataDir)
  try {
    // Another start may have done it while this one waited.
    if (!isRestorePending(dataDir)) return undefined
    const plan = readPlan(dataDir)
    const pending = join(dataDir, PENDING)
    await exchangeStore(settings, plan, pending)
    if (plan.has_keys) exchange(pending, KEYS_FOLDER, plan.keys_dir)
    exchange(pending, PLUGINS_FOLDER, plan.plugins_dir)
    rmSync(join(pending, COMING), { recursive: true, force: true })
    const kept = join(dataDir, plan.kept)
    renameSync(pending, kept)
    syncFolderSync(dataDir)
    return kept
  } finally {
    lock.release()
  }
}

async function exchangeStore(settings: Settings, plan: RestorePlan, pending: string): Promise<void> {
  const coming = join(pending, COMING, STORE_FILE)
  if (!existsSync(coming)) return
  if (plan.store_file === null) {
    await loadPostgres({
      url: storeUrlOf(settings),
      file: coming,
      keptIn: plan.kept.replaceAll('-', '_').toLowerCase(),
      finish: [...LEASE_DDL, ...auditTriggerSteps('postgres')],
    })
    rmSync(coming)
    return
  }
  for (const part of STORE_PARTS) putAside(plan.store_file + part, pending, basename(plan.store_file) + part)
  syncFolderSync(pending)
  move(coming, plan.store_file)
  syncFolderSync(dirname(plan.store_file))
}

/** A folder of the node: what stands at `place` goes aside, what came takes its place. */
function exchange(pending: string, folder: string, place: string): void {
  const coming = join(pending, COMING, folder)
  if (!existsSync(coming)) return
  putAside(place, pending, folder)
  syncFolderSync(pending)
  move(coming, place)
  syncFolderSync(dirname(place))
}

/** As long as something comes, what stands at the place is not it. Nothing that was put aside is ever replaced. */
function putAside(place: string, pending: string, name: string): void {
  if (statSync(place, { throwIfNoEntry: false }) === undefined) return
  let free = join(pending, name)
  for (let again = 1; existsSync(free); again++) free = join(pending, `${name}.${again}`)
  move(place, free)
}

/** A rename; between file systems a copy that is whole before its source goes. */
function move(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EXDEV') throw error
    const draft = `${to}.restore`
    rmSync(draft, { recursive: true, force: true })
    mkdirSync(dirname(to), { recursive: true })
    if (statSync(from).isDirectory()) cpSync(from, draft, { recursive: true })
    else copyFileSync(from, draft)
    const file = openSync(draft, 'r')
    fsyncSync(file)
    closeSync(file)
    renameSync(draft, to)
    rmSync(from, { recursive: true, force: true })
  }
}
