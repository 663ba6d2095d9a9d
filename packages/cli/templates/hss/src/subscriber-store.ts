import type { Imsi, Subscriber } from '@steeple/contracts'

/** What the HSS holds. */
export interface SubscriberStore {
  readonly size: number
  get(imsi: Imsi): Subscriber | undefined
  /** Keeps copies of the key buffers: the caller zeroes its own. */
  set(subscriber: Subscriber): void
  /** Zeroes the keys; false when there was none. */
  delete(imsi: Imsi): boolean
  /** Zeroes every key and forgets everything. */
  clear(): void
  /** Every subscriber, in no particular order. */
  values(): readonly Subscriber[]
}

/** An empty store. */
export function subscriberStore(): SubscriberStore {
  const rows = new Map<Imsi, Subscriber>()
  const forget = (imsi: Imsi): boolean => {
    const row = rows.get(imsi)
    row?.ki.fill(0)
    row?.opc.fill(0)
    return rows.delete(imsi)
  }
  return {
    get size() {
      return rows.size
    },
    get: (imsi) => rows.get(imsi),
    set: (subscriber) => {
      // Copies first: the caller may hand over the very buffers that are held here.
      const kept = { ...subscriber, ki: subscriber.ki.slice(), opc: subscriber.opc.slice() }
      forget(subscriber.imsi)
      rows.set(subscriber.imsi, kept)
    },
    delete: forget,
    clear: () => {
      for (const imsi of [...rows.keys()]) forget(imsi)
    },
    values: () => [...rows.values()],
  }
}
