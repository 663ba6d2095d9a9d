import { type ServiceRef, serviceRef } from './service-ref.ts'
import type { Tx } from './store.ts'

/**
 * Something that is good for one use and that a restore has closed: since the backup was taken it may have been used, and
 * what was restored does not know. Times are ms since the epoch.
 */
export interface ClosedItem {
  /** What it is: `recovery_code`, `invitation`. Lower case, with underscores. */
  readonly kind: string
  /** Its own id, unique within its kind; no secret. */
  readonly id: string
  /** When it is over anyway; undefined when it has no end of its own. */
  readonly untilMs?: number
}

/** How many of a kind are closed, and since when. */
export interface ClosedKind {
  readonly kind: string
  readonly items: number
  readonly closedAtMs: number
}

/** What restores have closed. Whoever takes something that is good once asks here first. */
export interface ClosedItems {
  /** Of some ids of a kind, at most 500, those that are closed. */
  among(kind: string, ids: readonly string[]): Promise<ReadonlySet<string>>
  /** What is closed and not over, by kind. */
  kinds(): Promise<readonly ClosedKind[]>
  /** At most `limit` of those behind `after`, by kind and id; of one kind where it is named. */
  list(limit: number, after: Pick<ClosedItem, 'kind' | 'id'>, kind?: string): Promise<readonly ClosedItem[]>
  /** Lets some of a kind, or all of it, be used as before; gives how many that were. */
  reopen(tx: Tx, kind: string, ids?: readonly string[]): Promise<number>
  /** Removes what is over. */
  sweep(tx: Tx): Promise<void>
}
export const closedItemsRef: ServiceRef<ClosedItems> = serviceRef<ClosedItems>('kernel.closed_items', {
  among: 'function',
  kinds: 'function',
  list: 'function',
  reopen: 'function',
  sweep: 'function',
})
