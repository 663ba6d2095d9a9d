import type { Imsi, SubscriberFound, SubscriberSource } from '@steeple/contracts'
import type { Doc } from '../links/document-link.ts'

/** Reads JSON from an API: each path below its address. Throws `southbound_unavailable`. */
export type Get = (path: string, signal: AbortSignal) => Promise<unknown>

/** A whole number, also as text; undefined for anything else. */
export function wholeNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : undefined
}

/** What is asked for the first time; later calls get the same answer. A failure is asked for again. */
export function once<T>(ask: (signal: AbortSignal) => Promise<T>): (signal: AbortSignal) => Promise<T> {
  let asked: Promise<T> | undefined
  return async (signal) => {
    asked ??= ask(signal).catch((error: unknown) => {
      asked = undefined
      throw error
    })
    return await asked
  }
}

/** A source whose rows have an `imsi`, of which one by one `found` tells all. */
export function source(
  name: string,
  rows: (signal: AbortSignal) => Promise<readonly Doc[]>,
  found: (row: Doc, what: 'with keys' | 'without keys', signal: AbortSignal) => Promise<SubscriberFound>,
): SubscriberSource {
  const byImsi = once(async (signal) => {
    const all = (await rows(signal)).flatMap((row) => {
      const { imsi } = row
      return typeof imsi === 'string' && /^[0-9]{6,15}$/.test(imsi) ? [[imsi as Imsi, row] as const] : []
    })
    return new Map(all)
  })
  return {
    name,
    everybody: async (signal) => [...(await byImsi(signal)).keys()],
    whole: async (imsis, what, signal) => {
      const all = await byImsi(signal)
      const whole = new Map<Imsi, SubscriberFound>()
      for (const imsi of imsis) {
        const row = all.get(imsi)
        if (row !== undefined) whole.set(imsi, await found(row, what, signal))
      }
      return whole
    },
  }
}

/** A list that comes in pages, from `first` on, up to 1,000 of them. */
export async function allPages<T>(
  first: number,
  page: (at: number) => Promise<readonly T[]>,
  size: number,
): Promise<readonly T[]> {
  const all: T[] = []
  for (let at = first; at < first + MOST_PAGES; at += 1) {
    const some = await page(at)
    all.push(...some)
    if (some.length < size) break
  }
  return all
}

const MOST_PAGES = 1_000
