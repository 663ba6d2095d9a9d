import { closeSync, existsSync, fsyncSync, openSync } from 'node:fs'
import { join } from 'node:path'
import {
  backupInvalid,
  backupVersionUnsupported,
  type ClosedItem,
  isServiceError,
  type Log,
  messageOf,
  type Plugin,
  type RestoreOrder,
  type StagedFindings,
  type StateFacts,
} from '@steeple/contracts'
import { checkVaultKey, createVault, openSecrets, type Secrets } from '@steeple/secrets'
import {
  asFullDisk,
  closedItems,
  closeItems,
  type Database,
  fullPace,
  KEYS_FOLDER,
  leaveOut,
  openDatabase,
  PLUGINS_FOLDER,
  STORE_FILE,
  scanIntegrity,
} from '@steeple/store'
import { auditBeginning } from '../audit/audit-beginning.ts'
import { auditTriggerSteps, plainSql } from '../audit/audit-chain.ts'
import { auditAnchor, createAuditTrail } from '../audit/audit-trail.ts'
import { offlineMutations } from '../mutation/create-mutations.ts'
import { closeKeys } from '../mutation/idempotency.ts'
import { KERNEL_TABLES, kernelMigrations } from '../mutation/kernel-tables.ts'
import type { StateParts } from './node-state.ts'

const ACTION = 'backup.restore'
const APPLIED = 'select owner, id from kernel_migration'
/** Behind the id of a migration whose step over rows is done. */
const ROWS_DONE = ':rows'
const TABLES = {
  sqlite: "select name from sqlite_schema where type = 'table' order by name",
  postgres:
    'select tablename as name from pg_catalog.pg_tables where schemaname = current_schema() order by 1',
} as const
/** Every code of a large network. */
const CLOSING_LIMIT_MS = 30_000
const QUIET: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/**
 * Checks a state that lies in `coming`, brings its store up to this version and writes into it that, and by whom, it was
 * restored. Nothing of the present state is changed. Throws as `StagedState.check`.
 */
export async function prepareState(
  running: StateParts,
  coming: string,
  facts: StateFacts,
  order: RestoreOrder,
): Promise<StagedFindings> {
  const parts = { ...running, plugins: () => lastingPlugins(running, coming) }
  refuseStranger(parts, facts, order)
  const store = join(coming, STORE_FILE)
  if (!existsSync(store)) throw backupInvalid('it holds no store')
  const secrets = secretsOf(parts, coming, facts)
  const leftOut = withoutStrangers(store)
  const db = await openStaged(parts, store)
  let closed: StagedFindings['closed']
  let counts: StagedFindings['facts']['counts']
  try {
    await refuseNewer(parts, db, facts)
    // What the manifest says of it nobody has checked.
    counts = await countRows(db)
    await bringUp(parts, db, secrets)
    await checkStaged(parts, db, secrets, order.signal)
    const present = presentTables(running, facts, secrets)
    closed = await settle({ ...parts, db }, secrets, { facts, leftOut, present }, order)
  } catch (error) {
    order.signal?.throwIfAborted()
    throw asInvalid(error)
  } finally {
    await db.close()
  }
  syncFile(store)
  return { facts: { ...facts, counts }, present: await countRows(parts.db), closed }
}

/**
 * The plugins that run now and will run then. Of one that was installed here the backup brings another version, or none: what
 * this one knows of its tables says nothing about them, and the one that comes brings them up itself.
 */
function lastingPlugins({ plugins }: StateParts, coming: string): ReturnType<StateParts['plugins']> {
  const folder = join(coming, PLUGINS_FOLDER)
  // Without any in it, those that are here stay.
  if (!existsSync(folder)) return plugins()
  return plugins().filter((plugin) => plugin.folder === undefined || existsSync(join(folder, plugin.folder)))
}

function refuseStranger(
  { identity }: StateParts,
  { nodeId, nodeName, hasKeys }: StateFacts,
  { isAdopting }: RestoreOrder,
): void {
  if (nodeId === identity.nodeId) return
  const whose = `it is of node ${nodeId} (${nodeName}), and this is ${identity.nodeId}`
  if (!hasKeys)
    throw backupInvalid(
      `${whose}; without its keys only its own node can restore it: make one with a passphrase`,
    )
  if (!isAdopting) throw backupInvalid(`${whose}; to have this node become that one, restore it with adopt`)
}

/** The keys that come with it, or those that stay. */
function secretsOf({ secrets }: StateParts, coming: string, facts: StateFacts): Secrets {
  if (!facts.hasKeys) {
    if (existsSync(join(coming, KEYS_FOLDER)))
      throw backupInvalid('it says that it has no keys, and has some')
    return secrets
  }
  let own: Secrets
  try {
    own = openSecrets(coming)
  } catch (error) {
    throw asInvalid(error)
  }
  if (own.identity.nodeId !== facts.nodeId)
    throw backupInvalid('its keys are not those of the node that it names')
  return own
}

function withoutStrangers(store: string): readonly string[] {
  try {
    const own = new Set(auditTriggerSteps('sqlite').map(plainSql))
    return leaveOut(store, (sql) => own.has(plainSql(sql)))
  } catch (error) {
    throw asInvalid(error)
  }
}

async function openStaged({ clock }: StateParts, store: string): Promise<Database> {
  try {
    return await openDatabase({ url: `sqlite:${store}`, clock, log: QUIET })
  } catch (error) {
    throw asInvalid(error)
  }
}

/** A migration that this version does not know was made by a later one. */
async function refuseNewer(parts: StateParts, db: Database, { version }: StateFacts): Promise<void> {
  const known = new Map(parts.plugins().map(({ id, plugin }) => [id, plugin.migrations ?? []]))
  const { auditKey } = parts.secrets
  const { clock } = parts
  const anchor = { read: () => undefined, remember: () => {} }
  known.set('kernel', kernelMigrations('sqlite', auditBeginning({ auditKey, anchor, clock })))
  const applied = await db.all<{ readonly owner: string; readonly id: string }>(APPLIED)
  const newer = applied.find(
    ({ owner, id }) => !id.endsWith(ROWS_DONE) && known.get(owner)?.every((migration) => migration.id !== id),
  )
  if (newer !== undefined) throw backupVersionUnsupported(version)
}

async function bringUp(parts: StateParts, db: Database, { auditKey, directory }: Secrets): Promise<void> {
  const anchor = auditAnchor(directory, auditKey)
  const beginning = auditBeginning({ auditKey, anchor, clock: parts.clock })
  await db.migrate('kernel', kernelMigrations('sqlite', beginning), KERNEL_TABLES)
  for (const { id, plugin } of parts.plugins()) await db.migrate(id, plugin.migrations ?? [], plugin.tables)
}

async function checkStaged(
  parts: StateParts,
  db: Database,
  secrets: Secrets,
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  const { auditKey, directory } = secrets
  await checkVaultKey(db, createVault(secrets.keyring), directory)
  const specs = [...KERNEL_TABLES, ...parts.plugins().flatMap(({ plugin }) => plugin.tables ?? [])]
  const { problems } = await scanIntegrity(db, specs, signal)
  const [problem] = problems
  if (problem !== undefined) throw backupInvalid(`${problem.table}: ${problem.reason}`)
  const anchor = auditAnchor(directory, auditKey)
  const trail = createAuditTrail({ db, clock: parts.clock, auditKey, anchor })
  const verdict = await trail.verifyGently(fullPace(signal))
  if (!verdict.ok) throw backupInvalid(`its audit trail is broken: ${verdict.reason}`)
}

type RestoredAt = Parameters<NonNullable<Plugin['restored']>>[1]
type Reseal = NonNullable<RestoredAt['present']>['reseal']

/** What is known of the state that comes. */
interface Coming {
  readonly facts: StateFacts
  readonly leftOut: readonly string[]
  /** The tables that those of a plugin replace. */
  present(owner: string): Pick<RestoredAt, 'present'>
}

/** The present tables of a plugin, when they are of the same node. */
function presentTables(
  { db, identity, secrets }: StateParts,
  facts: StateFacts,
  own: Secrets,
): Coming['present'] {
  if (facts.nodeId !== identity.nodeId) return () => ({})
  const [now, then] = [createVault(secrets.keyring), createVault(own.keyring)]
  const reseal: Reseal = (sealed, rowId) => {
    let plain: Uint8Array | undefined
    try {
      plain = now.open(sealed, rowId)
      return then.seal(plain, rowId)
    } catch {
      // A damaged row, which the check of the present store tells.
      return undefined
    } finally {
      plain?.fill(0)
    }
  }
  return (owner) => ({ present: { db: db.scoped(owner), reseal } })
}

/**
 * What must not come back (sessions, a transmitter that was armed) goes, what is good for one use is closed; the trail says
 * who restored it. Gives how much of each kind is closed.
 */
async function settle(
  parts: StateParts,
  secrets: Secrets,
  { facts, leftOut, present }: Coming,
  { principal, requestId }: RestoreOrder,
): Promise<StagedFindings['closed']> {
  const { clock, db } = parts
  const { auditKey } = secrets
  const vault = createVault(secrets.keyring)
  const mutations = offlineMutations({ db, clock, vault, auditKey })
  const items: ClosedItem[] = []
  const at = {
    takenAtMs: facts.takenAtMs,
    nowMs: clock.nowMs(),
    close: (item: ClosedItem) => void items.push(item),
  }
  for (const { id, plugin } of parts.plugins()) {
    const restored = plugin.restored?.bind(plugin)
    if (restored !== undefined) await mutations.observe(id, (tx) => restored(tx, { ...at, ...present(id) }))
  }
  const now = present('kernel').present?.db
  await db.transact(async (tx) => {
    await closeItems(tx, items, at.nowMs)
    if (now !== undefined) await closeKeys(tx, now, clock)
  }, CLOSING_LIMIT_MS)
  const kinds = await closedItems(db, clock).kinds()
  const closed = Object.fromEntries(kinds.map(({ kind, items: count }) => [kind, count]))
  await mutations.run({
    principal,
    action: ACTION,
    target: facts.nodeId,
    owner: 'kernel',
    ...(requestId === undefined ? {} : { requestId }),
    work: async (tx) => {
      tx.audit({
        detail: {
          taken_at: new Date(facts.takenAtMs).toISOString(),
          taken_by_version: facts.version,
          restored_on: parts.identity.nodeId,
          with_keys: facts.hasKeys,
          ...(leftOut.length === 0 ? {} : { left_out: leftOut }),
          closed,
        },
      })
      return { status: 200 }
    },
  })
  return closed
}

async function countRows(db: Database): Promise<Readonly<Record<string, number>>> {
  const tables = await db.all<{ readonly name: string }>(TABLES[db.dialect])
  const counts: Record<string, number> = {}
  for (const { name } of tables.filter((table) => !table.name.startsWith('sqlite_')))
    counts[name] = (await db.get<{ readonly n: number }>(`select count(*) as n from ${name}`))?.n ?? 0
  return counts
}

/** What is wrong with the copy is wrong with the backup, not with this node; but for the room that it needs. */
function asInvalid(error: unknown): unknown {
  const full = asFullDisk(error)
  if (full !== error) return full
  if (isServiceError(error) && error.status < 500) return error
  const reason = messageOf(error)
  // Where it lies for now says nothing to anybody.
  return backupInvalid(reason.replaceAll(/\S*\/restore-staging\/(new\/)?/g, ''), { cause: error })
}

function syncFile(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
