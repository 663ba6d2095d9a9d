import type { ServiceError } from './errors.ts'
import type { Clock } from './plugin.ts'
import type { Request } from './route.ts'

/** A request that is refused, as the audit trail is to have it. */
export interface Refusal {
  readonly target: string
  readonly detail: Readonly<Record<string, unknown>>
  /** The answer. */
  readonly error: ServiceError
  /** Entries that go with this one: a lock that it has closed. Not written where this one is not. */
  alongside?(): Promise<void>
}

/** Writes what strangers are refused into the audit trail: one by one as long as it is little, in sum beyond that. */
export interface RefusalTrail {
  /** Writes the refusal, under the action of the request, and throws its error. Not for a request that has mutated. */
  refuse(request: Pick<Request, 'mutate'>, refusal: Refusal): Promise<never>
  /** Writes the sum of those that were not written one by one, if there are any: to be called each minute and at the end. */
  flush(): Promise<void>
}

const MINUTE_MS = 60_000

/**
 * A trail of refusals. It is kept for a year: strangers must not be able to fill the disk with it.
 *
 * - `mostPerMinute`: refusals of a minute that have an entry of their own.
 * - `writeSum`: writes the one entry of the others; it is given how many.
 */
export function createRefusalTrail(
  clock: Pick<Clock, 'monotonicMs'>,
  { mostPerMinute, writeSum }: { readonly mostPerMinute: number; writeSum(count: number): Promise<void> },
): RefusalTrail {
  let minute = { sinceMs: Number.NEGATIVE_INFINITY, written: 0 }
  let unwritten = 0
  const isFull = (): boolean => {
    const nowMs = clock.monotonicMs()
    if (nowMs - minute.sinceMs >= MINUTE_MS) minute = { sinceMs: nowMs, written: 0 }
    minute.written += 1
    return minute.written > mostPerMinute
  }
  return {
    refuse: async (request, { target, detail, error, alongside }) => {
      if (isFull()) {
        unwritten += 1
        throw error
      }
      await alongside?.()
      await request.mutate(target, async (tx) => {
        tx.audit({ detail })
        throw error
      })
      throw error
    },
    flush: async () => {
      if (unwritten === 0) return
      const count = unwritten
      unwritten = 0
      await writeSum(count)
    },
  }
}
