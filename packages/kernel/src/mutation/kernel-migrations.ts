import type { Migration, TableSpec } from '@steeple/contracts'

/** `serial`: on SQLite `integer` (64 bit there) makes the key the row's own address and saves an index. */
const tables = (serial: 'integer' | 'bigint'): readonly string[] => [
  `create table kernel_audit (seq ${serial} not null primary key, at_ms bigint not null, principal_kind text not null,
    principal_id text not null, principal_name text not null, action text not null, target text not null,
    outcome text not null, request_id text, detail text not null, hash text not null, prev_hash text not null)`,
  `create table kernel_audit_checkpoint (seq ${serial} not null primary key, hash text not null, at_ms bigint not null,
    removed bigint not null, mac text not null)`,
  `create table kernel_audit_head (id integer not null primary key, seq bigint not null, hash text not null,
    mac text not null)`,
  `create table kernel_outbox (id ${serial} not null primary key, at_ms bigint not null, type text not null,
    subject text not null, data text not null, row_sum bigint not null)`,
  `create table kernel_idempotency (scope text not null primary key, body_sha256 text not null, at_ms bigint not null,
    reply text, sealed_reply bytea, row_sum bigint not null)`,
  'create index kernel_idempotency_at on kernel_idempotency (at_ms)',
  `create table kernel_rate (name text not null primary key, started_at_ms bigint not null, used bigint not null,
    row_sum bigint not null)`,
]

const REFUSAL = 'the audit trail is append-only'
const LAST_KEPT_OUT = 'select coalesce(max(seq), 0) from kernel_audit_checkpoint'

function sqliteTrigger(name: string, event: string, table: string, when: string): string {
  return `create trigger ${name} before ${event} on ${table} when ${when} begin select raise(abort, '${REFUSAL}'); end`
}

const SQLITE_TRIGGERS: readonly string[] = [
  sqliteTrigger(
    'kernel_audit_insert',
    'insert',
    'kernel_audit',
    `new.seq <= (select coalesce(max(seq), 0) from kernel_audit) or new.seq <= (${LAST_KEPT_OUT})`,
  ),
  sqliteTrigger('kernel_audit_update', 'update', 'kernel_audit', 'true'),
  sqliteTrigger('kernel_audit_delete', 'delete', 'kernel_audit', `old.seq > (${LAST_KEPT_OUT})`),
  sqliteTrigger(
    'kernel_audit_checkpoint_insert',
    'insert',
    'kernel_audit_checkpoint',
    `new.seq <= (${LAST_KEPT_OUT})`,
  ),
  sqliteTrigger('kernel_audit_checkpoint_update', 'update', 'kernel_audit_checkpoint', 'true'),
  sqliteTrigger('kernel_audit_checkpoint_delete', 'delete', 'kernel_audit_checkpoint', 'true'),
  sqliteTrigger(
    'kernel_audit_head_update',
    'update',
    'kernel_audit_head',
    'new.id <> old.id or new.seq <= old.seq',
  ),
  sqliteTrigger('kernel_audit_head_delete', 'delete', 'kernel_audit_head', 'true'),
]

function postgresTrigger(name: string, event: string, table: string, when: string): readonly string[] {
  const row = event === 'truncate' ? 'statement' : 'row'
  const result = event === 'delete' ? 'old' : 'new'
  return [
    `create function ${name}() returns trigger language plpgsql as
      'begin if ${when} then raise exception ''${REFUSAL}''; end if; return ${result}; end'`,
    `create trigger ${name} before ${event} on ${table} for each ${row} execute function ${name}()`,
  ]
}

const POSTGRES_TRIGGERS: readonly string[] = [
  ...postgresTrigger(
    'kernel_audit_insert',
    'insert',
    'kernel_audit',
    `new.seq <= (select coalesce(max(seq), 0) from kernel_audit) or new.seq <= (${LAST_KEPT_OUT})`,
  ),
  ...postgresTrigger('kernel_audit_update', 'update', 'kernel_audit', 'true'),
  ...postgresTrigger('kernel_audit_delete', 'delete', 'kernel_audit', `old.seq > (${LAST_KEPT_OUT})`),
  ...postgresTrigger('kernel_audit_truncate', 'truncate', 'kernel_audit', 'true'),
  ...postgresTrigger(
    'kernel_audit_checkpoint_insert',
    'insert',
    'kernel_audit_checkpoint',
    `new.seq <= (${LAST_KEPT_OUT})`,
  ),
  ...postgresTrigger('kernel_audit_checkpoint_update', 'update', 'kernel_audit_checkpoint', 'true'),
  ...postgresTrigger('kernel_audit_checkpoint_delete', 'delete', 'kernel_audit_checkpoint', 'true'),
  ...postgresTrigger('kernel_audit_checkpoint_truncate', 'truncate', 'kernel_audit_checkpoint', 'true'),
  ...postgresTrigger(
    'kernel_audit_head_update',
    'update',
    'kernel_audit_head',
    'new.id <> old.id or new.seq <= old.seq',
  ),
  ...postgresTrigger('kernel_audit_head_delete', 'delete', 'kernel_audit_head', 'true'),
  ...postgresTrigger('kernel_audit_head_truncate', 'truncate', 'kernel_audit_head', 'true'),
]

/** The kernel's own tables: pass them to `migrate('kernel', …)` before anything else is built on the store. */
export function kernelMigrations(dialect: 'sqlite' | 'postgres'): readonly Migration[] {
  const steps =
    dialect === 'sqlite'
      ? [...tables('integer'), ...SQLITE_TRIGGERS]
      : [...tables('bigint'), ...POSTGRES_TRIGGERS]
  return [{ id: '0001_mutation_path', up: steps }]
}

/** The kernel's tables with row sums, for the integrity scan. The audit trail has its own check. */
export const KERNEL_TABLES: readonly TableSpec[] = [
  { name: 'kernel_outbox', columns: ['id', 'at_ms', 'type', 'subject', 'data'], key: ['id'] },
  { name: 'kernel_idempotency', columns: ['scope', 'body_sha256', 'at_ms', 'reply'], key: ['scope'] },
  { name: 'kernel_rate', columns: ['name', 'started_at_ms', 'used'], key: ['name'] },
]
