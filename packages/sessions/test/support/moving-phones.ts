import type { Collection, ImsiHash, Volume } from '@steeple/contracts'
import { collection, START_MS, sighting } from './world.ts'

/** Phones that move data all the time: every other one is counted by a tap, the rest by charging records. */
export const PHONES = 60
export const START_TICK = 1
const TICK_MS = 1_000
/** Ticks after which a tap begins again, with another generation and from nothing. */
const GENERATION_TICKS = 2_000

export function imsiOf(phone: number): ImsiHash {
  return phone.toString(16).padStart(12, '0') as ImsiHash
}

/** What a phone moves in a tick. */
function octetsIn(phone: number, tick: number): number {
  return ((phone * 7 + tick * 13) % 97) + 1
}

/** What a phone has moved before a tick, from another one on. */
export function movedBetween(phone: number, fromTick: number, toTick: number): number {
  let all = 0
  for (let tick = fromTick; tick < toTick; tick++) all += octetsIn(phone, tick)
  return all
}

/** What sources see at a tick. Charging records are all those since `position`; taps of each generation keep their sums. */
export function collectionsAt(tick: number, position: string | undefined): ReadonlyMap<string, Collection> {
  const toMs = START_MS + tick * TICK_MS
  const phones = Array.from({ length: PHONES }, (_, phone) => phone)
  const address = (phone: number): string => `10.45.0.${phone}`
  const from = Number(position ?? START_TICK)
  const tapped = phones.filter((phone) => phone % 2 === 0)
  const volumes = tapped.flatMap((phone): readonly Volume[] =>
    Array.from({ length: Math.floor(tick / GENERATION_TICKS) + 1 }, (_, generation) => {
      const first = Math.max(START_TICK, generation * GENERATION_TICKS)
      const up = movedBetween(phone, first, Math.min(tick, (generation + 1) * GENERATION_TICKS))
      return {
        key: { by: 'address', address: address(phone) },
        upBytes: up,
        downBytes: 3 * up,
        fromMs: START_MS + first * TICK_MS,
        toMs,
        count: { counter: address(phone), generation: `g${generation}` },
        isIncomplete: false,
      }
    }),
  )
  const records = phones
    .filter((phone) => phone % 2 === 1)
    .map((phone): Volume => {
      const up = movedBetween(phone, from, tick)
      const whose = { by: 'imsi', imsi: imsiOf(phone), apn: 'internet' } as const
      const fromMs = START_MS + from * TICK_MS
      return { key: whose, upBytes: up, downBytes: 3 * up, fromMs, toMs, count: 'delta', isIncomplete: false }
    })
  const seen = phones.map((phone) =>
    sighting({ imsi: imsiOf(phone), address: address(phone), reference: `m${phone}`, seenAtMs: toMs }),
  )
  return new Map([
    ['mme', collection({ sightings: seen })],
    ['gtpu', collection({ volumes })],
    ['cdr', collection({ volumes: records, position: String(tick) })],
  ])
}
