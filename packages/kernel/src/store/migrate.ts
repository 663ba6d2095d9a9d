import { type Clock, type Reader, storeInvalid } from '@steeple/contracts'
import { checkAdditive } from './additive-ddl.ts'
import type { StoreMigration, WriterTx } from './database.ts'
import type { Writer } from './writer.ts'

/** An index on a large table takes its time. */
const MIGRATION_LIMIT_MS = 600_000

const TABLE =
  'create table if not exists kernel_migration (owner text not null, id text not null, at bigint not null, primary key (owner, id))'
const APPLIED = 'select id from kernel_migration where owner = :owner order by id'
const RECORD = 'insert into kernel_migration (owner, id, at) values (:owner, :id, :at)'
const ID = /^\d{4}_[a-z0-9_]+$/

/**
 * Brings the tables of one owner up, one transaction for each migration. The kernel's own migrations may hold any
 * DDL, those of plugins only additive steps on their own tables.
 *
 * Throws `store_invalid` when the database has migrations that the list lacks (a newer version made them), when one
 * would have to run before another that has run, and when a step is refused; then the failing step is undone.
 */
export async function migrate(
  writer: Writer,
  clock: Clock,
  owner: string,
  migrations: readonly StoreMigration[],
): Promise<void> {
  checkList(owner, migrations)
  await writer.transact((tx) => tx.run(TABLE), MIGRATION_LIMIT_MS)
  // Read by the writer: several instances may start at the same time.
  const missing = await writer.transact((tx) => missingOf(tx, owner, migrations))
  for (const migration of missing) {
    await writer.transact(async (tx) => {
      const isMissing = (await missingOf(tx, owner, migrations)).includes(migration)
      if (isMissing) await apply(tx, clock, owner, migration)
    }, MIGRATION_LIMIT_MS)
  }
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
    throw storeInvalid(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

async function missingOf(
  reader: Reader,
  owner: string,
  migrations: readonly StoreMigration[],
): Promise<readonly StoreMigration[]> {
  const applied = (await reader.all<{ id: string }>(APPLIED, { owner })).map((row) => row.id)
  const known = new Set(migrations.map(({ id }) => id))
  const newer = applied.filter((id) => !known.has(id))
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
