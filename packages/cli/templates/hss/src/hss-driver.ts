import { type HssDriver, type Imsi, notFound, type SubscriberObserved } from '@steeple/contracts'
import type { Held, SubscriberStore } from './subscriber-store.ts'

/**
 * The driver over a store. Each call is about many subscribers and says of each whether it went well: what is true of one alone (it
 * is not there) is that one's error, and never a reason to leave the others.
 */
export function hssDriver(store: SubscriberStore): HssDriver {
  return {
    name: 'sample_plugin',
    observe: async (imsis, signal) => {
      const held = await store.read(imsis, signal)
      return new Map(held.map((row) => [row.imsi, observed(row)]))
    },
    upsert: async (subscribers, signal) => {
      await store.write(subscribers, signal)
      return new Map(subscribers.map(({ imsi }) => [imsi, undefined]))
    },
    remove: async (imsis, signal) => {
      await store.remove(imsis, signal)
      return new Map(imsis.map((imsi) => [imsi, undefined]))
    },
    setBlocked: async (imsis, isBlocked, signal) => {
      const missing: readonly Imsi[] = await store.setBlocked(imsis, isBlocked, signal)
      return new Map(
        imsis.map((imsi) => [
          imsi,
          missing.includes(imsi) ? notFound('such subscriber in the HSS') : undefined,
        ]),
      )
    },
  }
}

function observed({ imsi, apns, ambrBps, isBlocked, msisdn }: Held): SubscriberObserved {
  return { imsi, apns, ambrBps, isBlocked, ...(msisdn === undefined ? {} : { msisdn }) }
}
