import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type CapturedState,
  type Clock,
  createTurns,
  isServiceError,
  messageOf,
  type NodeIdentity,
  type NodeState,
  type Plugin,
  replaceFileSync,
  type StagedState,
  type StateFacts,
  type StateFile,
  storeUnavailable,
  syncFolderSync,
} from '@steeple/contracts'
import type { Secrets } from '@steeple/secrets'
import {
  asFullDisk,
  COMING,
  checkRoom,
  checkStateName,
  type Database,
  filesBelow,
  isRestorePending,
  KEYS_FOLDER,
  linkOrCopy,
  openSqliteConnection,
  PENDING,
  PLAN,
  PLUGINS_FOLDER,
  type RestorePlan,
  STAGING,
  STORE_FILE,
  stampOf,
  syncFoldersBelow,
  writeStateFile,
} from '@steeple/store'
import { auditTriggerSteps } from '../audit/audit-chain.ts'
import { prepareState } from './prepare-state.ts'

/** The state of this node as a whole: see `NodeState`. What was cut off before is removed. */
export function createNodeState(parts: StateParts): NodeState {
  removeCaptures(parts.dataDir)
  const staging = join(parts.dataDir, STAGING)
  removeStaging(parts.dataDir)
  const turns = createTurns()
  let isBusy = false
  return {
    // One after the other: each takes the disk and the room of a whole store.
    capture: ({ withKeys, signal }) => turns(() => captureState(parts, withKeys, signal)),
    stage: async () => {
      if (isRestorePending(parts.dataDir))
        throw storeUnavailable('a restore was accepted; the service restarts')
      if (isBusy) throw storeUnavailable('another restore is under way; try again when it is over')
      isBusy = true
      rmSync(staging, { recursive: true, force: true })
      mkdirSync(join(staging, COMING), { recursive: true, mode: 0o700 })
      return stagedState(parts, staging, () => {
        isBusy = false
      })
    },
  }
}

/** Removes what was not decided: after a kill, and at the end of a service that a restore was under way in. */
export function removeStaging(dataDir: string): void {
  rmSync(join(dataDir, STAGING), { recursive: true, force: true })
}

function stagedState(parts: StateParts, staging: string, done: () => void): StagedState {
  let checked: StateFacts | undefined
  let isOver = false
  const coming = join(staging, COMING)
  return {
    room: (bytes) => checkRoom(parts.dataDir, bytes, 'the restore'),
    add: async (name, size, chunks) => {
      checkStateName(name)
      await checkRoom(parts.dataDir, size, 'the restore')
      await writeStateFile(join(coming, name), chunks).catch((error: unknown) => {
        throw asFullDisk(error)
      })
    },
    check: async (facts, order) => {
      const findings = await prepareState(parts, coming, facts, order)
      checked = facts
      return findings
    },
    commit: async () => {
      if (checked === undefined || isOver)
        throw new Error('a state is checked before it is decided, and decided once')
      try {
        const kept = decide(parts, staging, checked.hasKeys)
        isOver = true
        parts.restart()
        return kept
      } catch (error) {
        throw asFullDisk(error)
      }
    },
    discard: async () => {
      if (isOver) return
      isOver = true
      await rm(staging, { recursive: true, force: true })
      done()
    },
  }
}

/** What says where a state belongs. */
type StatePaths = Pick<StateParts, 'dataDir' | 'clock' | 'storeFile' | 'keysDir' | 'pluginsDir'>

/** Decides for what is staged: all of it on the disk first; the name of the folder is the decision. Gives where what was is kept. */
export function decide(parts: StatePaths, staging: string, hasKeys: boolean): string {
  const { dataDir } = parts
  const plan: RestorePlan = {
    kept: keptName(parts),
    store_file: parts.storeFile ?? null,
    keys_dir: parts.keysDir,
    plugins_dir: parts.pluginsDir,
    has_keys: hasKeys,
  }
  replaceFileSync(join(staging, PLAN), `${JSON.stringify(plan, undefined, 2)}\n`)
  syncFoldersBelow(staging)
  renameSync(staging, join(dataDir, PENDING))
  syncFolderSync(dataDir)
  return join(dataDir, plan.kept)
}

function keptName({ dataDir, clock }: StatePaths): string {
  const stamp = stampOf(clock.nowMs())
  for (let again = 0; ; again++) {
    const name = `restore-${stamp}${again === 0 ? '' : `-${again}`}`
    if (!existsSync(join(dataDir, name))) return name
  }
}

/** What the state of a node consists of, and who works on it. */
export interface StateParts {
  readonly dataDir: string
  readonly keysDir: string
  readonly pluginsDir: string
  /** The file of the store; undefined when it is no file. */
  readonly storeFile: string | undefined
  readonly db: Database
  readonly secrets: Secrets
  readonly identity: NodeIdentity
  readonly clock: Clock
  /** Of the service. */
  readonly version: string
  /** The plugins that run, in the order in which they came; of an installed one the name of its folder. */
  readonly plugins: () => readonly {
    readonly id: string
    readonly plugin: Plugin
    readonly folder?: string
  }[]
  /** Ends the service and starts it anew, soon. */
  readonly restart: () => void
}

const FOLDER = '.backup-'
/** What is known of the copy of a store. */
type Copied = Pick<StateFacts, 'counts' | 'schema'>

/** The keys may change while the store is read (a rotation, a renewal): then both are read again. */
const ATTEMPTS = 5
/** What of the keys belongs to one start of one machine. */
const LEFT_OUT: readonly string[] = ['keys/new-store.permit']
/** Tables that instances share a PostgreSQL by; a file has none. */
const SHARED_TABLES: readonly string[] = ['kernel_writer', 'kernel_lease', 'kernel_wanted']

/** Takes a copy of store, installed plugins and, when they are asked for, keys. */
export async function captureState(
  parts: StateParts,
  withKeys: boolean,
  signal: AbortSignal,
): Promise<CapturedState> {
  const { dataDir, db } = parts
  await checkRoom(dataDir, storeBytes(parts), 'a backup')
  const folder = mkdtempSync(join(dataDir, FOLDER))
  const release = (): Promise<void> => rm(folder, { recursive: true, force: true })
  try {
    const store = join(folder, STORE_FILE)
    const takenAtMs = parts.clock.nowMs()
    const { copied, keys } = withKeys
      ? await copyWithKeys(parts, folder, signal)
      : { copied: await copyStore(db, store, signal), keys: [] }
    const plugins = await copyPlugins(parts, folder)
    const files = [{ name: STORE_FILE, path: store, size: statSync(store).size }, ...keys, ...plugins]
    const { identity, version } = parts
    const facts: StateFacts = {
      nodeId: identity.nodeId,
      nodeName: identity.name,
      version,
      schema: copied.schema,
      counts: copied.counts,
      hasKeys: withKeys,
      takenAtMs,
    }
    return { facts, files, release }
  } catch (error) {
    await release()
    signal.throwIfAborted()
    if (isServiceError(error)) throw error
    const reason = messageOf(error)
    throw storeUnavailable(`the backup could not be taken (${reason})`, { cause: error })
  }
}

/** Removes what was left by captures that were cut off. The process that copied the store may be about to end only now. */
export function removeCaptures(dataDir: string): void {
  for (const name of readdirSync(dataDir))
    if (name.startsWith(FOLDER)) rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 10 })
}

function storeBytes({ storeFile }: StateParts): number {
  if (storeFile === undefined) return 0
  return ['', '-wal'].reduce(
    (sum, part) => sum + (statSync(storeFile + part, { throwIfNoEntry: false })?.size ?? 0),
    0,
  )
}

/** Store and keys of one moment: what is sealed in the one opens by the other. */
async function copyWithKeys(
  parts: StateParts,
  folder: string,
  signal: AbortSignal,
): Promise<{ readonly copied: Copied; readonly keys: readonly StateFile[] }> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const before = keysDigest(parts.keysDir)
    await rm(join(folder, STORE_FILE), { force: true })
    await rm(join(folder, KEYS_FOLDER), { recursive: true, force: true })
    const copied = await copyStore(parts.db, join(folder, STORE_FILE), signal)
    for (const { name, path } of keyFiles(parts.keysDir)) await linkOrCopy(path, join(folder, name))
    if (before === keysDigest(parts.keysDir))
      return { copied, keys: filesBelow(join(folder, KEYS_FOLDER), KEYS_FOLDER) }
  }
  throw storeUnavailable('the keys change all the time; try again when the rotation is over')
}

function keyFiles(keysDir: string): readonly StateFile[] {
  return filesBelow(keysDir, KEYS_FOLDER).filter(({ name }) => !LEFT_OUT.includes(name) && !/\/\./.test(name))
}

function keysDigest(keysDir: string): string {
  const digest = createHash('sha256')
  for (const { name, path } of keyFiles(keysDir)) digest.update(`${name}\0`).update(readFileSync(path))
  return digest.digest('hex')
}

async function copyStore(db: Database, target: string, signal: AbortSignal): Promise<Copied> {
  const copied = await db.copyTo(target, signal)
  if (db.dialect === 'sqlite') return copied
  // What of the schema is the engine's own: the same store as a file has other triggers and nobody to share it with.
  const file = openSqliteConnection(target, 'write')
  try {
    for (const table of SHARED_TABLES) file.exec(`drop table if exists ${table}`)
    for (const ddl of auditTriggerSteps('sqlite')) file.exec(ddl)
  } finally {
    file.close()
  }
  const own = Object.entries(copied.counts).filter(([table]) => !SHARED_TABLES.includes(table))
  return { schema: copied.schema, counts: Object.fromEntries(own) }
}

async function copyPlugins({ pluginsDir }: StateParts, folder: string): Promise<readonly StateFile[]> {
  if (!existsSync(pluginsDir)) return []
  const files = filesBelow(pluginsDir, PLUGINS_FOLDER).filter(({ name }) => !/\/\./.test(name))
  for (const { name, path } of files) await linkOrCopy(path, join(folder, name))
  return files.map(({ name, size }) => ({ name, size, path: join(folder, name) }))
}
