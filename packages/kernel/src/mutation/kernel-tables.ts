import type { TableSpec } from '@steeple/contracts'
import { VAULT_CHECK_DDL } from '@steeple/secrets'
import { CLOSED, CLOSED_DDL, type StoreMigration } from '@steeple/store'
import type { AuditBeginning } from '../audit/audit-beginning.ts'
import { auditTriggerSteps, type Dialect } from '../audit/audit-chain.ts'
import { CLOCK, CLOCK_DDL } from '../clock/clock-keeper.ts'
import { SECRET_DDL } from '../plugins/plugin-secrets.ts'
import { LEASE_DDL } from '../reconcile/election.ts'
import { RATE } from './create-mutations.ts'
import { IDEMPOTENCY } from './idempotency.ts'
import { OUTBOX, SUBSCRIPTION_DDL, SUBSCRIPTIONS } from './outbox.ts'

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

/** The kernel's own tables: pass them to `migrate('kernel', …)` before anything else is built on the store. */
export function kernelMigrations(dialect: Dialect, beginning: AuditBeginning): readonly StoreMigration[] {
  const steps = [...tables(dialect === 'sqlite' ? 'integer' : 'bigint'), ...auditTriggerSteps(dialect)]
  return [
    { id: '0001_mutation_path', up: steps, finish: (tx) => beginning.withTables(tx) },
    { id: '0002_audit_head', up: [], finish: (tx) => beginning.once(tx) },
    { id: '0003_clock', up: [CLOCK_DDL] },
    {
      id: '0004_idempotency_by_number',
      up: [
        'alter table kernel_idempotency add column scope_number bigint',
        'create index kernel_idempotency_number on kernel_idempotency (scope_number)',
      ],
    },
    { id: '0005_vault_check', up: [VAULT_CHECK_DDL] },
    // A file has no second instance.
    { id: '0006_cluster', up: dialect === 'postgres' ? LEASE_DDL : [] },
    { id: '0007_subscription', up: [SUBSCRIPTION_DDL] },
    { id: '0008_secret', up: [SECRET_DDL] },
    { id: '0009_closed', up: [CLOSED_DDL] },
  ]
}

/** The kernel's tables with row sums, for the integrity scan. The audit trail has its own check. */
export const KERNEL_TABLES: readonly TableSpec[] = [OUTBOX, IDEMPOTENCY, RATE, CLOCK, SUBSCRIPTIONS, CLOSED]
