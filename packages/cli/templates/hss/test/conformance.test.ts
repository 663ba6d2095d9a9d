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

hssDriverConformance('sample-plugin', async () => {
  const store = subscriberStore()
  return {
    driver: hssDriver(store),
    subscribers: [subscriber('0000000001', 32n), subscriber('0000000002', 64n)],
    storedSqn: async (imsi) => store.get(imsi)?.sqn,
    world: async () => JSON.stringify(store.values().map((row) => ({ ...row, sqn: String(row.sqn) }))),
    close: async () => store.clear(),
  }
})
