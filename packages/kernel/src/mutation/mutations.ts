import type { MutationTx, ObservedTx, Principal, Reply, StateEvent } from '@steeple/contracts'

/** Identity of an idempotent request: principal + method + path + key, hashed; and the hash of its body. */
export interface IdempotencyClaim {
  readonly scope: string
  readonly bodySha256: string
}

/** A stored first result. */
export interface StoredReply {
  readonly bodySha256: string
  readonly reply: Reply
  /** It ran before a restore that has undone it: there is nothing to repeat, and it is not run again. */
  readonly isUndone?: boolean
}

/** What a limit says after it was asked. Seconds until the window ends. */
export interface RateState {
  readonly limit: number
  readonly remaining: number
  readonly resetS: number
}

export interface Mutation {
  readonly principal: Principal
  /** Audit action, `sim.issue`; undefined for a route that declares it has none (then no audit entry, no event). */
  readonly action: string | undefined
  readonly target: string
  /** Plugin id whose tables `work` may touch. */
  readonly owner: string
  readonly requestId?: string
  readonly idempotency?: IdempotencyClaim
  /**
   * Taken before `work`, kept even when `work` throws; with `isOfSuccess` after it, and not when it throws. Throws `rate_limited`
   * (with retryAfterS) when exceeded.
   */
  readonly rateLimit?: { readonly name: string; readonly cost: number; readonly isOfSuccess?: true }
  work(tx: MutationTx): Promise<Reply>
}

/** The result of a mutation: its reply and, when it was limited, the state of the limit. */
export interface MutationResult {
  readonly reply: Reply
  readonly rate: RateState | undefined
}

/** The one mutation path: change, audit entry, event, rate limit and idempotency row in one transaction. */
export interface Mutations {
  run(mutation: Mutation): Promise<MutationResult>
  /** Writes what was observed in tables of `owner`, with its events and without audit. Rejects with what `work` throws. */
  observe<T>(owner: string, work: (tx: ObservedTx) => Promise<T>): Promise<T>
  /** Audits an attempt that was refused before any work (`denied`) or that failed outside a mutation (`failed`). */
  refuse(entry: {
    readonly principal: Principal
    readonly action: string
    readonly target: string
    readonly outcome: 'denied' | 'failed'
    readonly requestId?: string
    readonly detail?: Readonly<Record<string, unknown>>
  }): Promise<void>
  /**
   * Takes from a limit for work that is not one mutation. It stays taken whatever comes of the work. Throws
   * `rate_limited`; then the attempt is audited as `denied`.
   */
  take(
    of: Pick<Mutation, 'principal' | 'action' | 'target' | 'requestId'> &
      Required<Pick<Mutation, 'rateLimit'>>,
  ): Promise<void>
  /** The first result for a scope, if it is kept (24 h). */
  stored(scope: string): Promise<StoredReply | undefined>
  /** Keeps the result of a request that ran no mutation, or replaces the one its mutation kept. Never for a 5xx. */
  keep(claim: IdempotencyClaim, reply: Reply): Promise<void>
  /** Removes idempotency rows older than 24 h, expired rate windows, and outbox events older than `outboxKeepMs`. */
  sweep(): Promise<void>
}

export interface OutboxEvent extends StateEvent {
  /** The row is damaged: what it said is lost, the rest of this event is empty. */
  readonly isLost?: true
}

/** The durable stream of state changes. */
export interface Outbox {
  /** At most `limit` events after `id`, oldest first: all, or those of a type (`sim.issue`, `sim.*`). */
  after(id: number, limit: number, type?: string): Promise<readonly OutboxEvent[]>
  /** The newest id; 0 when empty. */
  lastId(): Promise<number>
  /** The oldest id still kept minus one; a stream that resumes below it has a gap. */
  floorId(): Promise<number>
  /** Calls the listener after each commit that added events, on whatever instance, with their types where they are known. */
  onCommit(listener: (types: ReadonlySet<string> | undefined) => void, signal: AbortSignal): void
}
