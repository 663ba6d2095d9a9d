import { setImmediate as nextTurn } from 'node:timers/promises'
import {
  chunksOf,
  type ImsiHash,
  type JsonSchema,
  quotaKeeperRef,
  recordSchema,
  type SubscriberState,
} from '@steeple/contracts'
import type { SimsParts } from '../parts.ts'
import { moved } from '../states/change.ts'
import { type SimStanding, type SuspendReason, standingsOf } from '../store/sim-store.ts'

/** What a bulk change does to each SIM. */
export interface BulkChange {
  readonly action: 'suspend' | 'resume' | 'revoke' | 'label' | 'extend'
  readonly label?: string | null | undefined
  readonly override?: boolean | undefined
  /** Of an extension: ms since the epoch. */
  readonly expiresAtMs?: number | undefined
}

/** SIMs that stand alike and to which a change does the same. */
interface BulkKind {
  readonly state: SubscriberState | null
  readonly suspend_reason: SuspendReason | null
  readonly status: 'changed' | 'unchanged' | 'error'
  readonly sims: number
}

/** What a bulk change would do. */
interface Outlook {
  readonly kinds: readonly BulkKind[]
  readonly changed: number
  readonly unchanged: number
  readonly failed: number
  /** Phones that are on, of SIMs that would be suspended or revoked. */
  readonly attached: number
}

export const KINDS: JsonSchema = {
  type: 'array',
  description: 'Of a dry run: how many SIMs stand alike, and what would become of them.',
  items: recordSchema({
    state: { type: ['string', 'null'], description: 'null: there is no such SIM.' },
    suspend_reason: { type: ['string', 'null'] },
    status: { type: 'string', description: 'changed, unchanged or error; more may come.' },
    sims: { type: 'integer' },
  }),
}

/** SIMs that are looked at without giving others a turn. */
const AT_ONCE = 500

/** What a change would do to these SIMs as they stand now; it changes nothing. */
export async function outlookOf(
  parts: SimsParts,
  change: BulkChange,
  hashes: readonly string[],
): Promise<Outlook> {
  const kinds = new Map<string, BulkKind>()
  const isCut = change.action === 'suspend' || change.action === 'revoke'
  const on = isCut ? parts.attachedSet.now()?.hashes : undefined
  let attached = 0
  const count = (kind: Omit<BulkKind, 'sims'>, sims: number): void => {
    const key = JSON.stringify(kind)
    kinds.set(key, { ...kind, sims: (kinds.get(key)?.sims ?? 0) + sims })
  }
  for (const some of chunksOf(hashes, AT_ONCE)) {
    const rows = await standingsOf(parts.context.db, some)
    const keptOff = await keptOffBy(parts, change, rows)
    for (const row of rows) {
      const status = keptOff.has(row.hash) ? 'error' : fateOf(row, change)
      if (status === 'changed' && on?.has(row.hash) === true) attached += 1
      count({ state: row.state, suspend_reason: row.suspend_reason, status }, 1)
    }
    if (rows.length < some.length)
      count({ state: null, suspend_reason: null, status: 'error' }, some.length - rows.length)
    await nextTurn()
  }
  const all = [...kinds.values()]
  const sum = (status: BulkKind['status']): number =>
    all.reduce((sims, kind) => sims + (kind.status === status ? kind.sims : 0), 0)
  return {
    kinds: all.toSorted((a, b) => b.sims - a.sims),
    changed: sum('changed'),
    unchanged: sum('unchanged'),
    failed: sum('error'),
    attached,
  }
}

function fateOf(row: SimStanding, change: BulkChange): BulkKind['status'] {
  if (change.action === 'label') return row.label === change.label ? 'unchanged' : 'changed'
  if (change.action === 'extend') {
    if (row.state === 'revoked') return 'error'
    return row.expires_at_ms >= (change.expiresAtMs ?? 0) ? 'unchanged' : 'changed'
  }
  const after = moved(row, change.action)
  return after === undefined ? 'error' : after === row ? 'unchanged' : 'changed'
}

/** Those whose quota is used up and keeps them off. */
async function keptOffBy(
  { context }: SimsParts,
  { action, override }: BulkChange,
  rows: readonly SimStanding[],
): Promise<ReadonlySet<ImsiHash>> {
  const keeper = action === 'resume' && override !== true ? context.maybe(quotaKeeperRef) : undefined
  const byQuota = rows
    .filter(({ state, suspend_reason: reason }) => state === 'suspended' && reason === 'quota')
    .map(({ hash }) => hash)
  if (keeper === undefined || byQuota.length === 0) return new Set()
  const used = await keeper.used(byQuota)
  return new Set(
    byQuota.filter((hash) => {
      const { usedBytes = 0, limitBytes } = used.get(hash) ?? {}
      return limitBytes !== undefined && usedBytes >= limitBytes
    }),
  )
}
