import type { Reader } from '@steeple/contracts'

/** The two kinds of store. */
export type Dialect = 'sqlite' | 'postgres'

interface AuditTrigger {
  readonly name: string
  readonly event: 'insert' | 'update' | 'delete' | 'truncate'
  readonly table: string
  /** What is refused. */
  readonly when: string
}

const TABLES = ['kernel_audit', 'kernel_audit_checkpoint', 'kernel_audit_head'] as const
const REFUSAL = 'the audit trail is append-only'
const LAST_KEPT_OUT = 'select coalesce(max(seq), 0) from kernel_audit_checkpoint'

const REFUSED: readonly Omit<AuditTrigger, 'name'>[] = [
  {
    table: 'kernel_audit',
    event: 'insert',
    when: `new.seq <= (select coalesce(max(seq), 0) from kernel_audit) or new.seq <= (${LAST_KEPT_OUT})`,
  },
  { table: 'kernel_audit', event: 'update', when: 'true' },
  { table: 'kernel_audit', event: 'delete', when: `old.seq > (${LAST_KEPT_OUT})` },
  { table: 'kernel_audit', event: 'truncate', when: 'true' },
  { table: 'kernel_audit_checkpoint', event: 'insert', when: `new.seq <= (${LAST_KEPT_OUT})` },
  { table: 'kernel_audit_checkpoint', event: 'update', when: 'true' },
  { table: 'kernel_audit_checkpoint', event: 'delete', when: 'true' },
  { table: 'kernel_audit_checkpoint', event: 'truncate', when: 'true' },
  { table: 'kernel_audit_head', event: 'update', when: 'new.id <> old.id or new.seq <= old.seq' },
  { table: 'kernel_audit_head', event: 'delete', when: 'true' },
  { table: 'kernel_audit_head', event: 'truncate', when: 'true' },
]

/** The triggers that keep the trail append-only. SQLite has no truncate. */
function auditTriggers(dialect: Dialect): readonly AuditTrigger[] {
  return REFUSED.filter(({ event }) => dialect === 'postgres' || event !== 'truncate').map((trigger) => ({
    ...trigger,
    name: `${trigger.table}_${trigger.event}`,
  }))
}

function sqliteTrigger({ name, event, table, when }: AuditTrigger): string {
  return `create trigger ${name} before ${event} on ${table} when ${when} begin select raise(abort, '${REFUSAL}'); end`
}

function postgresBody({ event, when }: AuditTrigger): string {
  return `begin if ${when} then raise exception '${REFUSAL}'; end if; return ${event === 'delete' ? 'old' : 'new'}; end`
}

function postgresTrigger({ name, event, table }: AuditTrigger): string {
  const row = event === 'truncate' ? 'statement' : 'row'
  return `create trigger ${name} before ${event} on ${table} for each ${row} execute function ${name}()`
}

function postgresSteps(trigger: AuditTrigger): readonly string[] {
  const body = postgresBody(trigger).replaceAll("'", "''")
  return [
    `create function ${trigger.name}() returns trigger language plpgsql as
      '${body}'`,
    postgresTrigger(trigger),
  ]
}

/** The DDL of the triggers. */
export function auditTriggerSteps(dialect: Dialect): readonly string[] {
  const triggers = auditTriggers(dialect)
  return dialect === 'sqlite' ? triggers.map(sqliteTrigger) : triggers.flatMap(postgresSteps)
}

const SQLITE_OBJECTS = `select name, sql from sqlite_master where type in ('table', 'trigger')
  and tbl_name in (${TABLES.map((table) => `'${table}'`).join(', ')})`
/** `body` is empty for a table. A trigger that does not fire in an ordinary session counts as absent. */
const POSTGRES_OBJECTS = `select relname as name, '' as sql, '' as body from pg_class
    where oid in (${TABLES.map((table) => `to_regclass('${table}')`).join(', ')})
  union all select t.tgname, pg_get_triggerdef(t.oid, true), p.prosrc
    from pg_trigger t join pg_proc p on p.oid = t.tgfoid where t.tgenabled in ('O', 'A')
    and t.tgrelid in (${TABLES.map((table) => `to_regclass('${table}')`).join(', ')})`

type StoredObject = { readonly name: string; readonly sql: string; readonly body?: string }

/** What the store lacks of the trail's tables and triggers; a trigger with another text does not count. */
export interface AuditShortfall {
  readonly tables: readonly string[]
  readonly triggers: readonly string[]
}

/** Compares the trail's tables and triggers with what the migration made: one read of the catalogue. */
export async function auditShortfall(reader: Reader, dialect: Dialect): Promise<AuditShortfall> {
  const rows = await reader.all<StoredObject>(dialect === 'sqlite' ? SQLITE_OBJECTS : POSTGRES_OBJECTS)
  const stored = new Map(rows.map((row) => [row.name, row]))
  const isWhole = (trigger: AuditTrigger): boolean => {
    const row = stored.get(trigger.name)
    if (row === undefined) return false
    if (dialect === 'sqlite') return plainSql(row.sql) === plainSql(sqliteTrigger(trigger))
    return plainSql(row.sql) === plainSql(postgresTrigger(trigger)) && row.body === postgresBody(trigger)
  }
  return {
    tables: TABLES.filter((table) => !stored.has(table)),
    triggers: auditTriggers(dialect)
      .filter((trigger) => !isWhole(trigger))
      .map(({ name }) => name),
  }
}

/** A statement of a schema as it can be compared: both databases write the first words in capitals. */
export function plainSql(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').trim().toLowerCase()
}
