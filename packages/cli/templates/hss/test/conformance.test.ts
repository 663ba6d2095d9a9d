import type { Imsi, Subscriber } from '@steeple/contracts'
import { hssDriverConformance } from '@steeple/testkit'
import { hssDriver } from '../src/hss-driver.ts'
import { subscriberStore } from '../src/subscriber-store.ts'

function subscriber(msin: string, sqn: bigint): Subscriber {
  return {
    imsi: `99999${msin}` as Imsi,
    ki: new Uint8Array(16).fill(Number(msin.at(-1))),
    opc: new Uint8Array(16).fill(7),
    sqn,
    apns: ['internet'],
    ambrBps: { up: 10_000_000, down: 50_000_000 },
    isBlocked: false,
  }
}

/**
 * The suite says it of what is not written yet. The memory behind the driver is a stand-in for your HSS: when
 * src/subscriber-store.ts talks to that, simulated or real, it can be looked at from here as well.
 */
async function toWrite(what: string): Promise<never> {
  throw new Error(`here is what to write: ${what}`)
}

hssDriverConformance('sample-plugin', async () => {
  const store = subscriberStore()
  return {
    driver: hssDriver(store),
    subscribers: [subscriber('0000000001', 32n), subscriber('0000000002', 64n)],
    stored: () =>
      toWrite('stored in this fixture reads keys and SQN of a subscriber from the HSS, past the driver'),
    empty: () => toWrite('empty in this fixture removes every subscriber from the HSS, past the driver'),
    world: () => toWrite('world in this fixture reads all that the HSS holds, past the driver'),
    // Take this one out where an HSS cannot be kept from answering.
    fallSilent: () => toWrite('fallSilent in this fixture keeps the HSS from answering'),
    close: async () => store.close(),
  }
})
