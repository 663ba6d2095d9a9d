import type { KeyObject } from 'node:crypto'
import { type AuditEntry, type Principal, type Reader, storeCorrupt } from '@steeple/contracts'
import type { CommitGroup, WriterTx } from '@steeple/store'
import { auditHash, canonicalJson, storableText } from './audit-entry.ts'
import { type AuditHead, type AuditSeal, auditSeal, isSameSignature } from './audit-seal.ts'

/** What a new entry says; place and hashes are the chain's. */
export interface NewAuditEntry {
  readonly atMs: number
  readonly principal: Principal
  readonly action: string
  readonly target: string
  readonly outcome: AuditEntry['outcome']
  readonly requestId: string | undefined
  readonly detail: Readonly<Record<string, unknown>> | undefined
}

/** The only way into the audit trail. */
export interface AuditChain {
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
