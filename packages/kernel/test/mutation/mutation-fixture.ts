import { createSecretKey } from 'node:crypto'
import type { AuditTrail, Principal, SealedColumns, Vault } from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { type StoreBox, TOY, TOY_MIGRATIONS, toy } from '@steeple/store/testing'
import type { Suite } from '@steeple/testkit'
import { auditBeginning } from '../../src/audit/audit-beginning.ts'
import type { AuditAnchor } from '../../src/audit/audit-trail.ts'
import { createAuditTrail } from '../../src/audit/audit-trail.ts'
import { createMutations } from '../../src/mutation/create-mutations.ts'
import { kernelMigrations } from '../../src/mutation/kernel-tables.ts'
import type { Mutation, Mutations } from '../../src/mutation/mutations.ts'
import { createOutbox, type OutboxFeed } from '../../src/mutation/outbox.ts'

/** The mutation path over one opened store. */
export interface MutationBench {
  readonly db: Database
  readonly mutations: Mutations
  readonly audit: AuditTrail
  readonly outbox: OutboxFeed
  readonly limits: Record<string, number>
  readonly dirty: string[]
  readonly sealed: SealedColumns[]
}

export const ANN: Principal = { kind: 'user', id: 'u-1', name: 'ann', roles: new Set() }
export const TOKEN: Principal = { kind: 'token', id: 'u-1', name: 'ann', roles: new Set() }

/** Bitwise complement: enough to see whether a text was sealed, and bound to its row. */
function toyVault(sealed: SealedColumns[]): Vault {
  const turn = (bytes: Uint8Array): Uint8Array => bytes.map((byte) => byte ^ 0xff)
  return {
    keyId: 'k1',
    seal: (plain, rowId) => turn(Buffer.concat([Buffer.from(`${rowId}|`), plain])),
    open: (bytes, rowId) => {
      const plain = Buffer.from(turn(bytes))
      if (!plain.toString().startsWith(`${rowId}|`)) throw new Error('moved')
      return plain.subarray(rowId.length + 1)
    },
    register: (columns) => void sealed.push(columns),
  }
}

/** Of a node that has forgotten, or never had, an earlier trail. */
const NO_ANCHOR: AuditAnchor = { read: () => undefined, remember: () => undefined }

/** Opens the store of `box` (again) and builds the mutation path on it; `key` fills the audit key. */
export async function mutationBench(box: StoreBox, key = 7, anchor = NO_ANCHOR): Promise<MutationBench> {
  const db = await box.open()
  const auditKey = createSecretKey(Buffer.alloc(32, key))
  const { clock } = box
  await db.migrate('kernel', kernelMigrations(db.dialect, auditBeginning({ auditKey, anchor, clock })))
  await db.migrate('toy', TOY_MIGRATIONS)
  const outbox = createOutbox({ db })
  const limits: Record<string, number> = {}
  const dirty: string[] = []
  const sealed: SealedColumns[] = []
  const mutations = createMutations({
    db,
    vault: toyVault(sealed),
    clock,
    auditKey,
    limits: () => limits,
    onDirty: (resource, key) => void dirty.push(`${resource}/${key}`),
    onEvents: (types) => outbox.committed(types),
  })
  return {
    db,
    mutations,
    audit: createAuditTrail({ db, clock, auditKey, anchor }),
    outbox,
    limits,
    dirty,
    sealed,
  }
}

/** Makes tests that are given a bench over a store of their own. */
export function benched(
  test: Suite,
  store: () => Promise<StoreBox>,
): (sentence: string, work: (bench: MutationBench, box: StoreBox) => Promise<void>) => void {
  return (sentence, work) =>
    test(sentence, async () => {
      await using box = await store()
      await work(await mutationBench(box), box)
    })
}

/** A mutation that inserts the toy row `id` and answers 201. */
export function making(id: string, more: Partial<Mutation> = {}): Mutation {
  return {
    principal: ANN,
    action: 'toy.make',
    target: id,
    owner: 'toy',
    work: async (tx) => {
      await TOY.insert(tx, toy(id))
      return { status: 201, body: { id } }
    },
    ...more,
  }
}
