import { hash } from 'node:crypto'
import { type AuditEntry, storeCorrupt } from '@steeple/contracts'

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
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed
}
