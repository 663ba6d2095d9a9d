/** The units that a quota is typed in, octets. */
export const UNITS = { MB: 1_000_000, GB: 1_000_000_000 } as const

export type Unit = keyof typeof UNITS

/** The unit in which people say that amount: 5 MB, 1.5 GB. */
export function unitOf(bytes: number): Unit {
  return bytes > 0 && bytes < UNITS.GB ? 'MB' : 'GB'
}

/** A change by so much is asked about: a typed unit is the wrong one by at least as much. */
const JUMP = 100

/** That an amount is much more or much less than the one before, and how many times; `none`: nothing is left of it. */
export interface Jump {
  readonly way: 'up' | 'down' | 'none'
  readonly times: number
}

/** Undefined while the amounts are less than a hundred times apart, or there was none before. */
export function jumpOf(before: number | null, now: number): Jump | undefined {
  if (before === null || before === 0 || Number.isNaN(now)) return undefined
  if (now === 0) return { way: 'none', times: 0 }
  const times = Math.round(Math.max(now / before, before / now))
  return times < JUMP ? undefined : { way: now > before ? 'up' : 'down', times }
}
