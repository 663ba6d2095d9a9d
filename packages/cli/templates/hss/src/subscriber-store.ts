import type { Imsi, Subscriber } from '@steeple/contracts'

/** What the HSS holds of a subscriber; a real one gives no keys back, and none are read. */
export type Held = Omit<Subscriber, 'ki' | 'opc'>

/**
 * The HSS as the driver calls it, many subscribers at a time. This one is memory; yours is reached over a network: pass the signal on,
 * throw `southbound_unavailable` when nobody answers, and name neither an IMSI nor a key in an error.
 */
export interface SubscriberStore {
  count(signal: AbortSignal): Promise<number>
  /** Those of them that the HSS holds. */
  read(imsis: readonly Imsi[], signal: AbortSignal): Promise<readonly Held[]>
  /** Writes each whole, but for the sequence number of one that is there. The key buffers are the caller's: make copies. */
  write(subscribers: readonly Subscriber[], signal: AbortSignal): Promise<void>
  /** One that is not there is gone already. */
  remove(imsis: readonly Imsi[], signal: AbortSignal): Promise<void>
  /** Blocks or unblocks those that are there, and gives the others. */
  setBlocked(imsis: readonly Imsi[], isBlocked: boolean, signal: AbortSignal): Promise<readonly Imsi[]>
  /** Lets go of the HSS. */
  close(): void
}

/** A store in memory. It zeroes the keys that it held. */
export function subscriberStore(): SubscriberStore {
  const rows = new Map<Imsi, Subscriber>()
  const forget = (imsi: Imsi): void => {
    const row = rows.get(imsi)
    row?.ki.fill(0)
    row?.opc.fill(0)
    rows.delete(imsi)
  }
  const put = (subscriber: Subscriber): void => {
    const before = rows.get(subscriber.imsi)
    // The sequence number is written on insert only: lowering it would lock the card out. TS 33.102 §6.3.3.
    const sqn = before?.sqn ?? subscriber.sqn
    const kept = { ...subscriber, sqn, ki: subscriber.ki.slice(), opc: subscriber.opc.slice() }
    forget(subscriber.imsi)
    rows.set(subscriber.imsi, kept)
  }
  return {
    count: async (signal) => {
      signal.throwIfAborted()
      return rows.size
    },
    read: async (imsis, signal) => {
      signal.throwIfAborted()
      return imsis.flatMap((imsi) => {
        const row = rows.get(imsi)
        if (row === undefined) return []
        const { ki: _ki, opc: _opc, ...held } = row
        return [held]
      })
    },
    write: async (subscribers, signal) => {
      signal.throwIfAborted()
      for (const subscriber of subscribers) put(subscriber)
    },
    remove: async (imsis, signal) => {
      signal.throwIfAborted()
      for (const imsi of imsis) forget(imsi)
    },
    setBlocked: async (imsis, isBlocked, signal) => {
      signal.throwIfAborted()
      for (const imsi of imsis) {
        const row = rows.get(imsi)
        if (row !== undefined) rows.set(imsi, { ...row, isBlocked })
      }
      return imsis.filter((imsi) => !rows.has(imsi))
    },
    close: () => {
      for (const imsi of [...rows.keys()]) forget(imsi)
    },
  }
}
