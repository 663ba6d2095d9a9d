import { createHmac, createSecretKey, hash, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { type AuditEntry, type Principal, type Reader, storeCorrupt } from '@steeple/contracts'
import type { CommitGroup, WriterTx } from '@steeple/store'

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
interface AuditShortfall {
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

/** A row of `kernel_audit`. `detail` is canonical JSON. */
export interface AuditRow {
  readonly seq: number
  readonly at_ms: number
  readonly principal_kind: string
  readonly principal_id: string
  readonly principal_name: string
  readonly action: string
  readonly target: string
  readonly outcome: string
  readonly request_id: string | null
  readonly detail: string
  readonly hash: string
  readonly prev_hash: string
}

/** The columns of `kernel_audit` for a select. */
export const AUDIT_COLUMNS =
  'seq, at_ms, principal_kind, principal_id, principal_name, action, target, outcome, request_id, detail, hash, prev_hash'

/** What the first entry has in place of the hash before it. */
export const GENESIS_HASH: string = '0'.repeat(64)

/**
 * SHA-256 (hex) over the canonical JSON of an entry with the hash of the one before it; the format is docs/explanation/audit.md's.
 * Written out key by key because it is on the path of every mutation.
 */
export function auditHash(row: Omit<AuditRow, 'hash'>): string {
  return hash(
    'sha256',
    `{"action":${JSON.stringify(row.action)},"at_ms":${row.at_ms},"detail":${row.detail},"outcome":${JSON.stringify(row.outcome)},"prev_hash":"${row.prev_hash}","principal":{"id":${JSON.stringify(row.principal_id)},"kind":${JSON.stringify(row.principal_kind)},"name":${JSON.stringify(row.principal_name)}},"request_id":${JSON.stringify(row.request_id)},"seq":${row.seq},"target":${JSON.stringify(row.target)}}`,
  )
}

/** The entry of a row. Throws `store_corrupt` when the row does not have the content that its hash covers. */
export function auditEntry(row: AuditRow): AuditEntry {
  if (auditHash(row) !== row.hash) throw storeCorrupt('kernel_audit')
  return {
    seq: row.seq,
    atMs: row.at_ms,
    principal: { kind: row.principal_kind, id: row.principal_id, name: row.principal_name },
    action: row.action,
    target: row.target,
    // The hash covers these two: they are what the mutation path wrote.
    outcome: row.outcome as AuditEntry['outcome'],
    requestId: row.request_id ?? undefined,
    detail: JSON.parse(row.detail) as AuditEntry['detail'],
    hash: row.hash,
    prevHash: row.prev_hash,
  }
}

/**
 * JSON with the keys of every object in code unit order and no white space, as RFC 8785 has it: one text for one value.
 * Properties that are undefined are left out, as JSON.stringify does.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (hasOwnForm(value)) return canonicalJson(value.toJSON())
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`).join(',')}}`
}

function hasOwnForm(value: object): value is { toJSON(): unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function'
}

/**
 * The text as both databases give it back: lone surrogates and U+0000, which a store would change or refuse, become
 * U+FFFD. What a hash covers must come back unchanged.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}

/** The newest entry, kept beside the trail so that a cut tail is seen. */
export interface AuditHead {
  readonly seq: number
  readonly hash: string
}

/** What retention leaves: the entries up to `seq` (with that hash) are gone, `removed` of them in this step. */
export interface AuditCheckpoint {
  readonly seq: number
  readonly hash: string
  readonly atMs: number
  readonly removed: number
}

/** Signs heads and checkpoints: HMAC-SHA-256, hex, over canonical JSON. */
export interface AuditSeal {
  head(head: AuditHead): string
  checkpoint(checkpoint: AuditCheckpoint): string
}

/** Of `auditKey`, for one use (HKDF-SHA-256). */
export function derivedKey(auditKey: KeyObject, use: 'head' | 'checkpoint' | 'anchor'): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', auditKey, '', `svc audit ${use}`, 32)))
}

/** The seal under keys derived from `auditKey`, which must stay the same over the life of the trail. */
export function auditSeal(auditKey: KeyObject): AuditSeal {
  const headKey = derivedKey(auditKey, 'head')
  const checkpointKey = derivedKey(auditKey, 'checkpoint')
  return {
    head: ({ seq, hash }) =>
      createHmac('sha256', headKey).update(`{"hash":"${hash}","seq":${seq}}`).digest('hex'),
    checkpoint: ({ seq, hash, atMs, removed }) =>
      createHmac('sha256', checkpointKey)
        .update(canonicalJson({ seq, hash, at_ms: atMs, removed }))
        .digest('hex'),
  }
}

/** Whether two signatures are the same, in constant time. */
export function isSameSignature(one: string, other: string): boolean {
  const a = Buffer.from(one)
  const b = Buffer.from(other)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** What a new entry says; place and hashes are the chain's. */
interface NewAuditEntry {
  readonly atMs: number
  readonly principal: Principal
  readonly action: string
  readonly target: string
  readonly outcome: AuditEntry['outcome']
  readonly requestId: string | undefined
  readonly detail: Readonly<Record<string, unknown>> | undefined
}

/** The only way into the audit trail. */
interface AuditChain {
  /** Appends in the caller's transaction. Throws `store_corrupt` when the head record is damaged or gone. */
  append(tx: WriterTx, entry: NewAuditEntry): Promise<void>
}

const READ_HEAD = 'select seq, hash, mac from kernel_audit_head where id = 1'
const WRITE_HEAD = `insert into kernel_audit_head (id, seq, hash, mac) values (1, :seq, :hash, :mac)
  on conflict (id) do update set seq = excluded.seq, hash = excluded.hash, mac = excluded.mac`
const INSERT = `insert into kernel_audit
  (seq, at_ms, principal_kind, principal_id, principal_name, action, target, outcome, request_id, detail, hash, prev_hash)
  values (:seq, :at_ms, :principal_kind, :principal_id, :principal_name, :action, :target, :outcome, :request_id, :detail,
  :hash, :prev_hash)`

/**
 * The signed head record; before the first entry it has seq 0 and the genesis hash.
 * Throws `store_corrupt` when it is missing (`auditBeginning` made it with the tables), or its signature is wrong.
 */
export async function readAuditHead(reader: Reader, seal: AuditSeal): Promise<AuditHead> {
  const row = await reader.get<AuditHead & { readonly mac: string }>(READ_HEAD)
  if (row === undefined || !isSameSignature(seal.head(row), row.mac)) throw storeCorrupt('kernel_audit_head')
  return { seq: row.seq, hash: row.hash }
}

/** The chain over the writer. The head is read once and written once for each commit, not for each entry. */
export function createAuditChain(auditKey: KeyObject): AuditChain {
  const seal = auditSeal(auditKey)
  const heads = new WeakMap<CommitGroup, { current: AuditHead }>()

  async function headOf(tx: WriterTx): Promise<{ current: AuditHead }> {
    const known = heads.get(tx.group)
    if (known !== undefined) return known
    const stored = await readAuditHead(tx, seal)
    const head = { current: stored }
    heads.set(tx.group, head)
    tx.group.beforeCommit(async (groupTx) => {
      if (head.current === stored) return
      await groupTx.run(WRITE_HEAD, { ...head.current, mac: seal.head(head.current) })
    })
    return head
  }

  return {
    append: async (tx, entry) => {
      const head = await headOf(tx)
      const before = head.current
      const content = {
        seq: before.seq + 1,
        at_ms: entry.atMs,
        principal_kind: entry.principal.kind,
        principal_id: storableText(entry.principal.id),
        principal_name: storableText(entry.principal.name),
        action: storableText(entry.action),
        target: storableText(entry.target),
        outcome: entry.outcome,
        request_id: entry.requestId === undefined ? null : storableText(entry.requestId),
        detail: entry.detail === undefined ? '{}' : canonicalJson(entry.detail),
        prev_hash: before.hash,
      }
      const hash = auditHash(content)
      tx.onUndo(() => {
        head.current = before
      })
      head.current = { seq: content.seq, hash }
      await tx.run(INSERT, { ...content, hash })
    },
  }
}
