import { validationFailed } from '@steeple/contracts'

/** What a session's NAS AMBR holds: 16 bits, read as signed. */
const SESSION_VALUE_MAX = 32_767
const UNITS: readonly (readonly [name: string, factor: number])[] = [
  ['bps', 1],
  ['Kbps', 1e3],
  ['Mbps', 1e6],
  ['Gbps', 1e9],
  ['Tbps', 1e12],
]
const TEXT = /^([0-9]+(?:\.[0-9]+)?) (bps|Kbps|Mbps|Gbps|Tbps)$/

/**
 * A session's rate as `<number> <unit>`: the smallest unit in which it fits 16 bits, rounded down, at least 1.
 *
 * `bps` is a whole number above 0; throws `validation_failed` otherwise.
 */
export function sessionRate(bps: number): string {
  if (!Number.isSafeInteger(bps) || bps <= 0) {
    throw validationFailed('an AMBR must be a whole number of bit/s above 0')
  }
  for (const [name, factor] of UNITS) {
    if (bps / factor < SESSION_VALUE_MAX + 1) return `${Math.floor(bps / factor)} ${name}`
  }
  throw validationFailed(`an AMBR can be ${SESSION_VALUE_MAX} Tbit/s at most`)
}

/** A subscriber's rate, exact: the session's text when that is, else with decimals. */
export function ueRate(bps: number): string {
  const short = sessionRate(bps)
  if (parseRate(short) === bps) return short
  const [name, factor] = UNITS.findLast(([, unit]) => bps >= unit) ?? ['bps', 1]
  const digits = String(bps).padStart(String(factor).length, '0')
  const whole = digits.slice(0, digits.length - (String(factor).length - 1))
  const rest = digits.slice(whole.length).replace(/0+$/, '')
  return rest === '' ? `${whole} ${name}` : `${whole}.${rest} ${name}`
}

/** Bit/s of a stored rate; 0 for what the core cannot read. */
export function parseRate(text: unknown): number {
  const match = typeof text === 'string' ? TEXT.exec(text) : null
  const factor = UNITS.find(([name]) => name === match?.[2])?.[1]
  if (match === null || factor === undefined) return 0
  return Math.round(Number(match[1]) * factor)
}
