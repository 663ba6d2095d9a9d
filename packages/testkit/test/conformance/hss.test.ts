import type { BatchResult, HssDriver, Imsi, Subscriber } from '@steeple/contracts'
import { hssDriverConformance } from '../../src/index.ts'

function memoryHss(rows: Map<Imsi, Subscriber>): HssDriver {
  const each = (imsis: readonly Imsi[], signal: AbortSignal, work: (imsi: Imsi) => void): BatchResult => {
    signal.throwIfAborted()
    return new Map(imsis.map((imsi) => [imsi, void work(imsi)]))
  }
  return {
    name: 'memory',
    observe: async (imsis, signal) => {
      signal.throwIfAborted()
      const found = imsis.map((imsi) => rows.get(imsi)).filter((row) => row !== undefined)
      return new Map(
        found.map(({ imsi, apns, ambrBps, isBlocked }) => [imsi, { imsi, apns, ambrBps, isBlocked }]),
      )
    },
    upsert: async (subscribers, signal) => {
      signal.throwIfAborted()
      for (const subscriber of subscribers) {
        rows.set(subscriber.imsi, { ...subscriber, sqn: rows.get(subscriber.imsi)?.sqn ?? subscriber.sqn })
      }
      return new Map(subscribers.map(({ imsi }) => [imsi, undefined]))
    },
    remove: async (imsis, signal) => each(imsis, signal, (imsi) => rows.delete(imsi)),
    setBlocked: async (imsis, isBlocked, signal) =>
      each(imsis, signal, (imsi) => {
        const row = rows.get(imsi)
        if (row !== undefined) rows.set(imsi, { ...row, isBlocked })
      }),
  }
}

hssDriverConformance('an HSS in memory', async () => {
  const rows = new Map<Imsi, Subscriber>()
  const subscribers = [1, 2].map((number) => ({
    // Test IMSIs of the test network 999-99.
    imsi: `99999000000000${number}` as Imsi,
    ki: new Uint8Array(16).fill(number),
    opc: new Uint8Array(16).fill(number + 8),
    sqn: 32n,
    apns: ['internet'],
    ambrBps: { up: 1_000_000, down: 2_000_000 },
    isBlocked: false,
  }))
  return {
    driver: memoryHss(rows),
    subscribers,
    storedSqn: async (imsi) => rows.get(imsi)?.sqn,
    world: async () => JSON.stringify([...rows.values()].map((row) => ({ ...row, sqn: String(row.sqn) }))),
    close: async () => undefined,
  }
})
