import type { ImsiHash, Volume } from '@steeple/contracts'

/** Octets that came to count, with the time in which they moved. */
export interface Moved {
  readonly imsi: ImsiHash
  readonly apn: string | undefined
  readonly upBytes: number
  readonly downBytes: number
  readonly fromMs: number
  readonly toMs: number
  readonly isIncomplete: boolean
}

/** Adds up what moved by subscriber and APN. */
export interface Tally {
  add(moved: Moved): void
  volumes(): readonly Volume[]
}

/** Nothing has moved. */
export function tally(): Tally {
  const sums = new Map<string, Moved>()
  return {
    add: (moved) => {
      const key = `${moved.imsi} ${moved.apn ?? ''}`
      const sum = sums.get(key)
      sums.set(key, sum === undefined ? moved : added(sum, moved))
    },
    volumes: () =>
      [...sums.values()].map(({ imsi, apn, ...moved }) => ({
        ...moved,
        key: { by: 'imsi', imsi, ...(apn === undefined ? {} : { apn }) },
        count: 'delta',
      })),
  }
}

function added(one: Moved, other: Moved): Moved {
  return {
    imsi: one.imsi,
    apn: one.apn,
    upBytes: one.upBytes + other.upBytes,
    downBytes: one.downBytes + other.downBytes,
    fromMs: Math.min(one.fromMs, other.fromMs),
    toMs: Math.max(one.toMs, other.toMs),
    isIncomplete: one.isIncomplete || other.isIncomplete,
  }
}
