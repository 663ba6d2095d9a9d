import { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { copyFile, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import {
  backupInvalid,
  type StateFile,
  storeInvalid,
  storeUnavailable,
  syncFolderSync,
  writeNewFile,
} from '@steeple/contracts'
import { openSqliteConnection } from './sqlite-binding.ts'

/** The store in a state, and the folders of the rest. */
export const STORE_FILE = 'store.db'
export const KEYS_FOLDER = 'keys'
export const PLUGINS_FOLDER = 'plugins'

const PART = /^[A-Za-z0-9._@+-]{1,200}$/
const LONGEST_NAME = 1_000
/** What a disk keeps free beside what is written. */
const RESERVE_BYTES = 64 * 1_048_576
const FULL_CODES: readonly string[] = ['ENOSPC', 'EDQUOT', 'SQLITE_FULL']
/** A file stands where another one, or its folder, is to be. */
const TAKEN_CODES: readonly string[] = ['EEXIST', 'ENOTDIR', 'EISDIR']
/** File systems without hard links, or with another file system between, answer one of these. */
const NO_LINK_CODES: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EXDEV', 'EMLINK']

/** A moment as it stands in the names of what is kept: `20261128T094500Z`. */
export function stampOf(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, '')
}

/** Throws `backup_invalid` unless a file of a state may have that name. */
export function checkStateName(name: string): void {
  const [first, ...rest] = name.split('/')
  const isKnown =
    name === STORE_FILE || ((first === KEYS_FOLDER || first === PLUGINS_FOLDER) && rest.length > 0)
  const isPlain = rest.every((part) => PART.test(part) && part !== '.' && part !== '..')
  if (!isKnown || !isPlain || name.length > LONGEST_NAME)
    throw backupInvalid(`it holds a file of no known name (${JSON.stringify(name.slice(0, 100))})`)
}

/** The regular files below `folder` by name, sorted; what is in the making (a dot in front) and links are left out. */
export function filesBelow(folder: string, prefix: string): readonly StateFile[] {
  const entries = readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name)
    const name = `${prefix}/${entry.name}`
    if (entry.isDirectory()) return filesBelow(path, name)
    return entry.isFile() && PART.test(entry.name) ? [{ name, path, size: lstatSync(path).size }] : []
  })
}

/** Puts a file that is only ever replaced as a whole at another place too. */
export async function linkOrCopy(from: string, to: string): Promise<void> {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  try {
    linkSync(from, to)
  } catch (error) {
    if (!NO_LINK_CODES.includes(codeOf(error))) throw error
    await copyFile(from, to)
  }
}

/**
 * Writes a new file, mode 0600, durable when it resolves. Throws `backup_invalid` when it, or something in the place of its
 * folder, is there already.
 */
export async function writeStateFile(path: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    await writeNewFile(path, chunks)
  } catch (error) {
    if (TAKEN_CODES.includes(codeOf(error))) throw backupInvalid('it holds a file twice')
    throw error
  }
}

/** What a full disk answers is no fault of the backup: `store_unavailable`. Anything else as it is. */
export function asFullDisk(error: unknown): unknown {
  const { cause } = (error ?? {}) as { readonly cause?: unknown }
  if (!FULL_CODES.includes(codeOf(error)) && !FULL_CODES.includes(codeOf(cause))) return error
  return storeUnavailable('the disk is full; nothing has changed, make room and try again', { cause: error })
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown } | undefined)?.code)
}

/** Throws `store_unavailable` unless the disk of `folder` has room for so many octets and a reserve. */
export async function checkRoom(folder: string, bytes: number, what: string): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  if (free >= bytes + RESERVE_BYTES) return
  const needed = Math.ceil((bytes + RESERVE_BYTES) / 1_048_576)
  throw storeUnavailable(
    `${what} needs ${needed} MiB and the disk has ${Math.floor(free / 1_048_576)}; make room`,
  )
}

/** Makes the names in a directory and in all below it durable. */
export function syncFoldersBelow(path: string): void {
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) syncFoldersBelow(join(path, entry.name))
  syncFolderSync(path)
}

/** Where a state is brought in, and what it is called once that is decided. */
export const STAGING = 'restore-staging'
export const PENDING = 'restore-pending'
/** What comes, in both of them. */
export const COMING = 'new'
export const PLAN = 'restore.json'

/** What a decided restore puts where. Written before it is decided. */
export interface RestorePlan {
  /** Name of the directory that keeps what was before. */
  readonly kept: string
  /** Where the store file belongs; null on PostgreSQL. */
  readonly store_file: string | null
  readonly keys_dir: string
  readonly plugins_dir: string
  readonly has_keys: boolean
}

/** Whether a restore was decided and is not done yet. */
export function isRestorePending(dataDir: string): boolean {
  return existsSync(join(dataDir, PENDING))
}

/** The plan of a decided restore. Throws `store_invalid` when it cannot be read. */
export function readPlan(dataDir: string): RestorePlan {
  const path = join(dataDir, PENDING, PLAN)
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as RestorePlan // `commit` wrote it, durable, before the decision
  } catch (cause) {
    throw storeInvalid(`${path} cannot be read; put the old state back by hand, it is beside it`, { cause })
  }
}

/** Triggers before views: those of a view go with it. */
const OBJECTS = `select type, name, sql from sqlite_schema
  where type in ('trigger', 'view') or (type = 'table' and sql like 'create virtual%') order by type, name`
const MOST_NAMED = 20
const LONGEST_SHOWN = 100

interface StoredObject {
  readonly type: 'table' | 'trigger' | 'view'
  readonly name: string
  readonly sql: string
}

/**
 * Takes out of a store file what no version of this service makes and what would act by itself: triggers but one's
 * own, and views. To be called before anything is written into it. Gives what it was (`view every_row`), at most 20.
 * Throws `backup_invalid` for a virtual table, whose module would run as it is taken out.
 */
export function leaveOut(path: string, isOwn: (sql: string) => boolean): readonly string[] {
  const file = openSqliteConnection(path, 'write')
  try {
    const objects = file.prepare(OBJECTS).all() as readonly StoredObject[] // as the statement says
    const strange = objects.filter(({ type, sql }) => type !== 'trigger' || !isOwn(sql))
    const [table] = strange.filter(({ type }) => type === 'table')
    if (table !== undefined) throw backupInvalid(`it holds a virtual table (${shown(table.name)})`)
    for (const { type, name } of strange) file.exec(`drop ${type} if exists "${name.replaceAll('"', '""')}"`)
    return strange.slice(0, MOST_NAMED).map(({ type, name }) => `${type} ${shown(name)}`)
  } finally {
    file.close()
  }
}

function shown(name: string): string {
  return name.slice(0, LONGEST_SHOWN)
}
