import type { Log } from '@steeple/contracts'
import type { Outbox, OutboxEvent } from '@steeple/kernel'

/** Events kept in memory for streams that are up to date; older ones are read from the store. */
const RECENT_EVENTS = 512
/** Events read at a time. */
const BATCH = 256

/** Part of the stream of events after a position. */
export interface EventBatch {
  readonly events: readonly OutboxEvent[]
  /** When events after the position were swept: the newest that is gone. */
  readonly gapUntil: number | undefined
}

/** Reads the outbox once for all streams. */
export interface EventHub {
  /** The newest position. */
  head(): Promise<number>
  /** At most 256 events after `id`, oldest first. */
  after(id: number): Promise<EventBatch>
  /** Resolves when there may be more, after `withinMs`, or when the signal aborts. */
  wait(withinMs: number, signal: AbortSignal): Promise<void>
  /** Follows the outbox from now until the returned function is called. */
  follow(): () => void
}

/** A hub that reads nothing while nobody follows. */
export function createEventHub(outbox: Outbox, log: Log, shutdown: AbortSignal): EventHub {
  const waiting = new Set<() => void>()
  let recent: OutboxEvent[] = []
  let followers = 0
  let isReading = false
  let isStale = false

  const wakeAll = (): void => {
    for (const wake of [...waiting]) wake()
  }
  const readOn = async (): Promise<void> => {
    const last = recent.at(-1)?.id ?? (await outbox.lastId()) - 1
    const batch = await outbox.after(Math.max(0, last), BATCH)
    if (batch.length === 0) return
    for (const { id } of batch.filter((event) => event.isLost === true)) {
      log.error({ event: id }, 'event is damaged in the store; streams get a gap in its place')
    }
    recent = [...recent, ...batch].slice(-RECENT_EVENTS)
    isStale ||= batch.length === BATCH
    wakeAll()
  }
  const refresh = async (): Promise<void> => {
    isStale = true
    if (isReading || followers === 0) return
    isReading = true
    try {
      while (isStale && followers > 0) {
        isStale = false
        await readOn()
      }
    } catch (error) {
      log.warn({ err: error }, 'event stream could not read the outbox')
    } finally {
      isReading = false
    }
  }
  outbox.onCommit(() => void refresh(), shutdown)

  return {
    head: () => outbox.lastId(),
    after: async (id) => {
      const oldest = recent[0]?.id
      if (oldest !== undefined && id >= oldest - 1) {
        return { events: recent.filter((event) => event.id > id).slice(0, BATCH), gapUntil: undefined }
      }
      const events = await outbox.after(id, BATCH)
      // Asked after the read: what was swept between the two is then reported and not lost silently.
      const floor = await outbox.floorId()
      return floor > id
        ? { events: events.filter((event) => event.id > floor), gapUntil: floor }
        : { events, gapUntil: undefined }
    },
    wait: (withinMs, signal) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(() => wake(), withinMs)
      const wake = (): void => {
        clearTimeout(timer)
        waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
      return promise
    },
    follow: () => {
      followers += 1
      void refresh()
      return () => {
        followers -= 1
        if (followers === 0) recent = []
      }
    },
  }
}
