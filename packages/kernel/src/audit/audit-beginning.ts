import type { KeyObject } from 'node:crypto'
import { type Clock, type Reader, systemPrincipal } from '@steeple/contracts'
import type { WriterTx } from '@steeple/store'
import {
  AUDIT_COLUMNS,
  type AuditRow,
  auditHash,
  auditSeal,
  createAuditChain,
  GENESIS_HASH,
} from './audit-chain.ts'
import type { AuditAnchor } from './audit-trail.ts'

/** The first entry of a trail that begins on a node which had one before. */
const BEGIN_ACTION = 'audit.begin'

/** What the migrations do about the trail, in their own transactions. */
export interface AuditBeginning {
  /**
   * With the tables themselves: on a node that had a trail before, the new one begins with an entry that says so.
   * Tables that are made anew in a store of plugins get no head: their trail was dropped.
   */
  withTables(tx: WriterTx): Promise<void>
  /** Once in the life of a store: gives a trail in which nothing was recorded yet its head. */
  once(tx: WriterTx): Promise<void>
}

/** What a beginning needs. `auditKey` is the one that the mutations use. */
interface BeginningOptions {
  readonly auditKey: KeyObject
  readonly anchor: AuditAnchor
  readonly clock: Clock
}

const INSERT_HEAD = 'insert into kernel_audit_head (id, seq, hash, mac) values (1, :seq, :hash, :mac)'
const HAS_RECORDS = `select 1 as one where exists (select 1 from kernel_audit)
  or exists (select 1 from kernel_audit_checkpoint) or exists (select 1 from kernel_audit_head)
  or exists (select 1 from kernel_outbox) or exists (select 1 from kernel_idempotency)
  or exists (select 1 from kernel_rate)`
/** A store whose plugins have made their tables is not new, whatever became of the kernel's. */
const HAS_PLUGINS = "select 1 as one from kernel_migration where owner <> 'kernel' limit 1"
const FIRST = `select ${AUDIT_COLUMNS} from kernel_audit where seq = 1`

/**
 * Every trail has a signed head from its first moment on, so a store without one is damaged. Migrations alone make it,
 * never a later start; once the anchor stands, only in the transaction that makes the tables.
 */
export function auditBeginning({ auditKey, anchor, clock }: BeginningOptions): AuditBeginning {
  const seal = auditSeal(auditKey)
  const earlier = anchor.read()
  const genesis = { seq: 0, hash: GENESIS_HASH }
  const insertHead = (tx: WriterTx): Promise<number> =>
    tx.run(INSERT_HEAD, { ...genesis, mac: seal.head(genesis) })

  let isRemade = false
  return {
    withTables: async (tx) => {
      isRemade = (await tx.get(HAS_PLUGINS)) !== undefined
      if (isRemade || earlier === undefined) return
      await insertHead(tx)
      const last = earlier.beganAtMs.at(-1)
      await createAuditChain(auditKey).append(tx, {
        atMs: clock.nowMs(),
        principal: systemPrincipal('kernel'),
        action: BEGIN_ACTION,
        target: 'audit',
        outcome: 'ok',
        requestId: undefined,
        detail: {
          earlier_trails: earlier.isSigned ? earlier.beganAtMs.length : 'unknown',
          ...(last === undefined ? {} : { last_began_at: new Date(last).toISOString() }),
        },
      })
    },
    once: async (tx) => {
      if (isRemade || earlier !== undefined) return
      if ((await tx.get(HAS_RECORDS)) === undefined) await insertHead(tx)
    },
  }
}

/**
 * Makes the anchor say that the trail of this store began; the head must be there and signed.
 * True when that trail replaces an earlier one of this node and the anchor did not know it yet.
 */
export async function anchorTrail(
  reader: Reader,
  { anchor, clock }: Omit<BeginningOptions, 'auditKey'>,
): Promise<boolean> {
  const known = anchor.read()
  const first = await reader.get<AuditRow>(FIRST)
  if (known === undefined) {
    anchor.remember(first?.at_ms ?? clock.nowMs())
    return false
  }
  if (first?.action !== BEGIN_ACTION || auditHash(first) !== first.hash) return false
  if (known.beganAtMs.includes(first.at_ms)) return false
  anchor.remember(first.at_ms)
  return true
}
