import type { MutationTx, ObservedTx, Principal } from '@steeple/contracts'
import { limitedTx, type SqlGuard, type WriterTx } from '@steeple/store'

/** An event as a mutation gives it. */
export type WorkEvent = Parameters<MutationTx['event']>[0]

/** What the work of a mutation has said about itself. */
export interface WorkFacts {
  target: string
  /** Who it was, where the work has found that out. */
  principal?: Principal
  detail: Readonly<Record<string, unknown>> | undefined
  event: WorkEvent | undefined
  /** Behind `event`, in the order in which they were told. */
  readonly told: WorkEvent[]
  readonly dirty: { readonly resource: string; readonly key: string; readonly isUrgent: boolean }[]
}

/** The transaction that the work of a mutation gets; what it says is written into `facts`. */
export function workTx(tx: WriterTx, guard: SqlGuard, facts: WorkFacts): MutationTx {
  const said: Pick<MutationTx, 'audit' | 'event' | 'tell' | 'dirty'> = {
    audit: ({ target, detail, principal }) => {
      if (principal !== undefined) facts.principal = principal
      if (target !== undefined) facts.target = target
      if (detail !== undefined) facts.detail = { ...facts.detail, ...detail }
    },
    event: (event) => {
      facts.event = event
    },
    tell: (event) => {
      facts.told.push(event)
    },
    dirty: (resource, key, isUrgent = false) => {
      facts.dirty.push({ resource, key, isUrgent })
    },
  }
  return Object.assign(limitedTx(tx, guard), said)
}

/** The transaction that writes what was observed; its events are collected in `events`. */
export function observedTx(tx: WriterTx, guard: SqlGuard, events: WorkEvent[]): ObservedTx {
  return Object.assign(limitedTx(tx, guard), { event: (event: WorkEvent) => void events.push(event) })
}
