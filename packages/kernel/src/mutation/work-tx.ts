import type { MutationTx } from '@steeple/contracts'
import type { WriterTx } from '../store/database.ts'
import { limitedTx, type SqlGuard } from '../store/scoped-db.ts'

/** An event as a mutation gives it. */
export type WorkEvent = Parameters<MutationTx['event']>[0]

/** What the work of a mutation has said about itself. */
export interface WorkFacts {
  target: string
  detail: Readonly<Record<string, unknown>> | undefined
  event: WorkEvent | undefined
  readonly dirty: { readonly resource: string; readonly key: string }[]
}

/** The transaction that the work of a mutation gets; what it says is written into `facts`. */
export function workTx(tx: WriterTx, guard: SqlGuard, facts: WorkFacts): MutationTx {
  const said: Pick<MutationTx, 'audit' | 'event' | 'dirty'> = {
    audit: ({ target, detail }) => {
      if (target !== undefined) facts.target = target
      if (detail !== undefined) facts.detail = { ...facts.detail, ...detail }
    },
    event: (event) => {
      facts.event = event
    },
    dirty: (resource, key) => {
      facts.dirty.push({ resource, key })
    },
  }
  return Object.assign(limitedTx(tx, guard), said)
}
