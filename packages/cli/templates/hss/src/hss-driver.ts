import {
  type BatchResult,
  type HssDriver,
  type Imsi,
  notFound,
  type Subscriber,
  type SubscriberObserved,
} from '@steeple/contracts'
import type { SubscriberStore } from './subscriber-store.ts'

/**
 * The driver over a store in memory.
 *
 * A real HSS is reached over a network: there, every call passes its signal on, works in bounded batches and puts the
 * error of one subscriber into the result of that one alone.
 */
export function hssDriver(store: SubscriberStore): HssDriver {
  const each = (imsis: readonly Imsi[], work: (imsi: Imsi) => void): BatchResult => {
    for (const imsi of imsis) work(imsi)
    return new Map(imsis.map((imsi) => [imsi, undefined]))
  }
  return {
    name: 'memory',
    observe: async (imsis, signal) => {
      signal.throwIfAborted()
      const held = imsis.map((imsi) => store.get(imsi)).filter((row) => row !== undefined)
      return new Map(held.map((row) => [row.imsi, observed(row)]))
    },
    upsert: async (subscribers, signal) => {
      signal.throwIfAborted()
      for (const subscriber of subscribers) store.set(merged(store.get(subscriber.imsi), subscriber))
      return new Map(subscribers.map(({ imsi }) => [imsi, undefined]))
    },
    remove: async (imsis, signal) => {
      signal.throwIfAborted()
      return each(imsis, (imsi) => void store.delete(imsi))
    },
    setBlocked: async (imsis, isBlocked, signal) => {
      signal.throwIfAborted()
      return new Map(imsis.map((imsi) => [imsi, block(store, imsi, isBlocked)]))
    },
  }
}

/** The sequence number is written on insert only: lowering it would lock the card out. TS 33.102 §6.3.3. */
function merged(before: Subscriber | undefined, after: Subscriber): Subscriber {
  return before === undefined ? after : { ...after, sqn: before.sqn }
}

function block(store: SubscriberStore, imsi: Imsi, isBlocked: boolean): Error | undefined {
  const row = store.get(imsi)
  if (row === undefined) return notFound('such subscriber in the HSS')
  store.set({ ...row, isBlocked })
  return undefined
}

function observed(row: Subscriber): SubscriberObserved {
  const { imsi, apns, ambrBps, isBlocked, msisdn } = row
  return { imsi, apns, ambrBps, isBlocked, ...(msisdn === undefined ? {} : { msisdn }) }
}
