import {
  type Clock,
  type Log,
  messageOf,
  type Reader,
  type RowStep,
  type SqlParams,
  storeInvalid,
  type TableSpec,
} from '@steeple/contracts'
import type { StoreMigration, WriterTx } from './database.ts'
import { tablePrefix } from './scope.ts'
import { type SqlToken, sqlTokens } from './sql-tokens.ts'
import { limitedTx, sqlGuard, type Writer } from './writer.ts'

const LISTS_TABLE =
  'create table if not exists kernel_columns (name text not null primary key, columns text not null)'
const FIND = 'select columns from kernel_columns where name = :name'
const PUT = `insert into kernel_columns (name, columns) values (:name, :columns)
  on conflict (name) do update set columns = excluded.columns`

/**
 * Keeps the longest list of columns that any version has had for a table, and tells it to the tables of this one: so a
 * version that was rolled back to can check the sums of rows that the later one has written.
 *
 * Throws `store_invalid` when neither list begins with the other: then no sum of before would hold.
 */
async function learnColumns(tx: WriterTx, owner: string, tables: readonly TableSpec[]): Promise<void> {
  if (tables.length === 0) return
  await tx.run(LISTS_TABLE)
  for (const spec of tables) {
    const { name, columns } = spec
    const row = await tx.get<{ columns: string }>(FIND, { name })
    // Written below.
    const known = row === undefined ? [] : (JSON.parse(row.columns) as readonly string[])
    const shorter = Math.min(known.length, columns.length)
    if (known.slice(0, shorter).join() !== columns.slice(0, shorter).join())
      throw storeInvalid(
        `${owner} lists the columns of ${name} as ${columns.join(', ')}; rows are stored with ${known.join(', ')}; keep that order, and add behind it`,
      )
    if (columns.length > known.length) await tx.run(PUT, { name, columns: JSON.stringify(columns) })
    spec.learn?.(known)
  }
}

/** Words that start a schema step, up to the name of the table or index. `[x]` may be left out. */
const FORMS: readonly { readonly words: readonly string[]; readonly after?: string }[] = [
  { words: ['create', 'table', 'if', 'not', 'exists'] },
  { words: ['create', 'table'] },
  { words: ['create', 'unique', 'index', 'if', 'not', 'exists'], after: 'on' },
  { words: ['create', 'index', 'if', 'not', 'exists'], after: 'on' },
  { words: ['create', 'unique', 'index'], after: 'on' },
  { words: ['create', 'index'], after: 'on' },
  { words: ['alter', 'table'], after: 'add' },
  { words: ['drop', 'index', 'if', 'exists'] },
]

/**
 * Refuses a schema step that is not additive or that is about tables of others.
 * Throws an Error that names the step and what is allowed.
 */
function checkAdditive(owner: string, ddl: string): void {
  const tokens = sqlTokens(ddl)
  const form = FORMS.find(({ words }) => words.every((word, index) => tokens[index]?.text === word))
  if (form === undefined)
    throw refused(
      owner,
      ddl,
      'only create table, create index, alter table add column and drop index if exists',
    )
  if (tokens.some((token) => token.kind === 'mark' && token.text === ';'))
    throw refused(owner, ddl, 'one statement for each step')
  const at = form.words.length
  if (form.after === 'add' && !isAddColumn(tokens, at))
    throw refused(owner, ddl, 'alter table only with add column')
  if (form.after === 'add' && isDemanded(tokens))
    throw refused(owner, ddl, 'older code writes rows without it: leave out not null or give a default')
  if (form.words[1] === 'table' && form.after === undefined && !isListOfColumns(tokens, at))
    throw refused(owner, ddl, 'create table only with its columns, not from other rows')
  const prefix = tablePrefix(owner)
  const foreign = namesOf(tokens, at, form.after).find((name) => !name.startsWith(prefix))
  if (foreign !== undefined) throw refused(owner, ddl, `${foreign} does not begin with ${prefix}`)
}

function isAddColumn(tokens: readonly SqlToken[], at: number): boolean {
  return (
    tokens[at + 1]?.text === 'add' &&
    tokens[at + 2]?.text === 'column' &&
    !tokens.some((token) => token.kind === 'mark' && token.text === ',' && isOutermost(tokens, token))
  )
}

function isDemanded(tokens: readonly SqlToken[]): boolean {
  const words = tokens.map(({ text }) => text)
  return words.some((word, at) => word === 'not' && words[at + 1] === 'null') && !words.includes('default')
}

/** `name (…)`: what follows the name begins a list; `as select` would copy the rows of any table. */
function isListOfColumns(tokens: readonly SqlToken[], at: number): boolean {
  return (
    tokens[at + 1]?.text === '(' && !tokens.some(({ kind, text }) => kind === 'word' && text === 'select')
  )
}

/** Whether the mark is outside all parentheses. */
function isOutermost(tokens: readonly SqlToken[], mark: SqlToken): boolean {
  let depth = 0
  for (const token of tokens) {
    if (token === mark) return depth === 0
    if (token.kind !== 'mark') continue
    if (token.text === '(') depth++
    if (token.text === ')') depth--
  }
  return false
}

/** The table or index, the table of an index, and every table that is referenced. A qualified name keeps its dot. */
function namesOf(tokens: readonly SqlToken[], at: number, after: string | undefined): readonly string[] {
  const names = [nameAt(tokens, at)]
  if (after === 'on') names.push(tokens[at + 1]?.text === 'on' ? nameAt(tokens, at + 2) : '?')
  tokens.forEach((token, index) => {
    if (token.kind === 'word' && token.text === 'references') names.push(nameAt(tokens, index + 1))
  })
  return names
}

function nameAt(tokens: readonly SqlToken[], index: number): string {
  const name = tokens[index]?.text ?? '?'
  return tokens[index + 1]?.text === '.' ? `?.${name}` : name
}

function refused(owner: string, ddl: string, why: string): Error {
  return new Error(`the migration of ${owner} is refused (${why}): ${ddl}`)
}

/** An index on a large table takes its time. */
const MIGRATION_LIMIT_MS = 600_000

const TABLE =
  'create table if not exists kernel_migration (owner text not null, id text not null, at bigint not null, primary key (owner, id))'
const APPLIED = 'select id from kernel_migration where owner = :owner order by id'
const RECORD = 'insert into kernel_migration (owner, id, at) values (:owner, :id, :at)'
const ID = /^\d{4}_[a-z0-9_]+$/

/** The newest migration of each owner: rows of `owner` and `id`. */
export const NEWEST_MIGRATIONS: string =
  "select owner, max(id) as id from kernel_migration where id not like '%:rows' group by owner order by owner"

/** Marks that no row needs a migration's step any more, behind the migration's id. */
const ROWS_DONE = ':rows'
const FORGET_ROWS_DONE = 'delete from kernel_migration where owner = :owner and id like :rows_done'

/** What the migrations of one owner need. */
interface Migrating {
  readonly writer: Writer
  readonly clock: Clock
  readonly log: Log
  readonly owner: string
  readonly migrations: readonly StoreMigration[]
  readonly tables: readonly TableSpec[]
}

/**
 * Brings the tables of one owner up: one transaction for each migration's schema, then the steps over rows, one for
 * each batch. Whoever has none yet gets all in one transaction: a first start is not to wait for the disk a hundred
 * times. The kernel's own migrations may hold any DDL, those of plugins only additive steps on their own tables.
 *
 * Throws `store_invalid` when the database has migrations that the list lacks (a newer version made them), when one
 * would have to run before another that has run, and when a step is refused; then the failing step is undone. Of a
 * database that a newer version made the tables learn what its rows look like all the same.
 */
export async function migrate(migrating: Migrating): Promise<void> {
  const { writer, clock, owner, migrations, tables } = migrating
  checkList(owner, migrations)
  await writer.transact((tx) => tx.run(TABLE), MIGRATION_LIMIT_MS)
  // Read by the writer: several instances may start at the same time.
  const before = await writer.transact((tx) => appliedOf(tx, owner))
  if (before.length === 0 && migrations.length > 0 && (await begin(migrating))) return
  if (newerOf(before, migrations).length > 0) await fallBack(writer, owner, tables)
  for (const migration of missingOf(before, owner, migrations)) {
    await writer.transact(async (tx) => {
      const isMissing = missingOf(await appliedOf(tx, owner), owner, migrations).includes(migration)
      if (isMissing) await apply(tx, clock, owner, migration)
    }, MIGRATION_LIMIT_MS)
  }
  await writer.transact((tx) => learnColumns(tx, owner, tables))
  const waiting = migrations.filter(({ id }) => !before.includes(`${id}${ROWS_DONE}`))
  for (const { id, rows } of waiting) if (rows !== undefined) await stepOverRows(migrating, before, id, rows)
}

/** The tables of an owner that has none; there is no row that a step would have to look at. False when another instance was faster. */
async function begin({ writer, clock, owner, migrations, tables }: Migrating): Promise<boolean> {
  return await writer.transact(async (tx) => {
    if ((await appliedOf(tx, owner)).length > 0) return false
    for (const migration of migrations) await apply(tx, clock, owner, migration)
    for (const { id, rows } of migrations)
      if (rows !== undefined) await tx.run(RECORD, { owner, id: `${id}${ROWS_DONE}`, at: clock.nowMs() })
    await learnColumns(tx, owner, tables)
    return true
  }, MIGRATION_LIMIT_MS)
}

/** See `Database.fallBack`: rows that the older version writes lack what the newer one's steps have added. */
export async function fallBack(writer: Writer, owner: string, tables: readonly TableSpec[]): Promise<void> {
  await writer.transact(async (tx) => {
    await tx.run(FORGET_ROWS_DONE, { owner, rows_done: `%${ROWS_DONE}` })
    await learnColumns(tx, owner, tables)
  })
}

/**
 * Runs a step over every row that needs it. It counts as done for good when a later load finds no such row: until then
 * the version before may have been at work beside it.
 */
async function stepOverRows(
  { writer, clock, log, owner }: Migrating,
  before: readonly string[],
  id: string,
  step: RowStep,
): Promise<void> {
  const guard = sqlGuard(owner)
  let last: SqlParams | undefined
  let batches = 0
  for (;;) {
    const after = last
    last = await writer.transact((tx) => step(limitedTx(tx, guard), after), MIGRATION_LIMIT_MS)
    if (last === undefined) break
    batches += 1
  }
  if (batches > 0) log.info({ owner, migration: id, batches }, 'rows brought up')
  else if (before.includes(id))
    await writer.transact((tx) => tx.run(RECORD, { owner, id: `${id}${ROWS_DONE}`, at: clock.nowMs() }))
}

async function apply(tx: WriterTx, clock: Clock, owner: string, migration: StoreMigration): Promise<void> {
  const { id, up } = migration
  for (const ddl of up) await tx.run(ddl)
  if (owner === 'kernel') await migration.finish?.(tx)
  await tx.run(RECORD, { owner, id, at: clock.nowMs() })
}

function checkList(owner: string, migrations: readonly StoreMigration[]): void {
  migrations.forEach(({ id }, index) => {
    const before = migrations[index - 1]?.id
    if (!ID.test(id) || (before !== undefined && before >= id))
      throw storeInvalid(`the migrations of ${owner} are not in order at ${id}; ids are 0001_noun and grow`)
  })
  if (owner === 'kernel') return
  try {
    for (const ddl of migrations.flatMap(({ up }) => up)) checkAdditive(owner, ddl)
  } catch (error) {
    throw storeInvalid(messageOf(error), { cause: error })
  }
}

/** Ids of what has run, also of steps over rows that are done. */
async function appliedOf(reader: Reader, owner: string): Promise<readonly string[]> {
  return (await reader.all<{ id: string }>(APPLIED, { owner })).map((row) => row.id)
}

function newerOf(applied: readonly string[], migrations: readonly StoreMigration[]): readonly string[] {
  const known = new Set(migrations.map(({ id }) => id))
  return applied.filter((id) => !id.endsWith(ROWS_DONE) && !known.has(id))
}

function missingOf(
  all: readonly string[],
  owner: string,
  migrations: readonly StoreMigration[],
): readonly StoreMigration[] {
  const applied = all.filter((id) => !id.endsWith(ROWS_DONE))
  const newer = newerOf(applied, migrations)
  if (newer.length > 0)
    throw storeInvalid(
      `it was written by a newer version of ${owner} (${newer.join(', ')}); use that version or restore a backup`,
    )
  const done = new Set(applied)
  const missing = migrations.filter(({ id }) => !done.has(id))
  const last = applied.at(-1)
  const late = missing.find(({ id }) => last !== undefined && id < last)
  if (late !== undefined)
    throw storeInvalid(`migration ${late.id} of ${owner} must run before ${last}, which has run`)
  return missing
}
