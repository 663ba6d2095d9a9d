import {
  type BatchResult,
  type HssDriver,
  type Imsi,
  notFound,
  type Subscriber,
  southboundUnavailable,
} from '@steeple/contracts'
import type { HssFixture } from '../../../src/conformance/hss.ts'

/** What an HSS in memory holds. It answers nothing while it is silent. */
export class Rows extends Map<Imsi, Subscriber> {
  isSilent = false
}

/** What a comparison looks at beside the AMBR. */
const COMPARED = ['ki', 'opc', 'apns', 'isBlocked', 'msisdn'] as const

/** A right driver over a store in memory. */
export function memoryHss(rows: Rows): HssDriver {
  const each = (
    imsis: readonly Imsi[],
    signal: AbortSignal,
    work: (imsi: Imsi) => Error | undefined,
  ): BatchResult => {
    answer(signal)
    return new Map(imsis.map((imsi) => [imsi, work(imsi)]))
  }
  const answer = (signal: AbortSignal): void => {
    signal.throwIfAborted()
    if (rows.isSilent) throw southboundUnavailable('the HSS does not answer')
  }
  return {
    name: 'memory',
    observe: async (imsis, signal) => {
      answer(signal)
      const found = imsis.map((imsi) => rows.get(imsi)).filter((row) => row !== undefined)
      return new Map(
        found.map(({ imsi, apns, ambrBps, isBlocked, msisdn }) => [
          imsi,
          { imsi, apns, ambrBps, isBlocked, ...(msisdn === undefined ? {} : { msisdn }) },
        ]),
      )
    },
    upsert: async (subscribers, signal) => {
      answer(signal)
      for (const subscriber of subscribers) {
        const { imsi, ki, opc, sqn } = subscriber
        rows.set(imsi, { ...subscriber, ki: ki.slice(), opc: opc.slice(), sqn: rows.get(imsi)?.sqn ?? sqn })
      }
      return new Map(subscribers.map(({ imsi }) => [imsi, undefined]))
    },
    compare: async (subscribers, signal) => {
      answer(signal)
      const held = subscribers.filter(({ imsi }) => rows.has(imsi))
      return new Map(
        held.map((wanted) => {
          const row = rows.get(wanted.imsi)
          const fields = COMPARED.filter((field) => String(row?.[field]) !== String(wanted[field]))
          const isRate = row?.ambrBps.up === wanted.ambrBps.up && row.ambrBps.down === wanted.ambrBps.down
          return [wanted.imsi, { fields: [...fields, ...(isRate ? [] : ['ambrBps'])], isSqnLost: false }]
        }),
      )
    },
    existing: async (imsis, signal) => {
      answer(signal)
      const found = imsis.map((imsi) => rows.get(imsi)).filter((row) => row !== undefined)
      return new Map(
        found.map(({ imsi, apns, ambrBps, isBlocked, msisdn }) => [
          imsi,
          { apns, ambrBps, isBlocked, msisdn, sessionAmbrBps: new Map() },
        ]),
      )
    },
    survey: async (signal) => {
      answer(signal)
      return { subscribers: rows.size, addresses: [] }
    },
    remove: async (imsis, signal) =>
      each(imsis, signal, (imsi) => {
        rows.delete(imsi)
        return undefined
      }),
    setBlocked: async (imsis, isBlocked, signal) =>
      each(imsis, signal, (imsi) => {
        const row = rows.get(imsi)
        if (row === undefined) return notFound('such subscriber in memory')
        rows.set(imsi, { ...row, isBlocked })
        return undefined
      }),
  }
}

/** A fixture around a driver of that store; `make` may give a wrong one. */
export async function memoryHssFixture(make: (rows: Rows) => HssDriver = memoryHss): Promise<HssFixture> {
  const rows = new Rows()
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
  const text = (row: Subscriber): string =>
    JSON.stringify({ ...row, ki: [...row.ki], opc: [...row.opc], sqn: String(row.sqn) })
  return {
    driver: make(rows),
    subscribers,
    stored: async (imsi) => rows.get(imsi),
    fallSilent: async () => {
      rows.isSilent = true
    },
    empty: async () => rows.clear(),
    world: async () => [...rows.values()].map(text).toSorted().join('\n'),
    close: async () => undefined,
  }
}
