import { type Ambr, validationFailed } from '@steeple/contracts'
import { Int32 } from 'bson'
import type { Doc } from '../links/document-link.ts'

/** More of any of these in one document aborts a daemon of the core (HSS, UDR, PCRF, PCF). */
export const SESSIONS_MAX = 4
export const SLICES_MAX = 8
export const MSISDNS_MAX = 2

/** What the HSS reads of `value`: a 32-bit integer. */
const VALUE_MAX = 2 ** 31 - 1

/**
 * A rate as value and unit, rate = value · 1000^unit, with the smallest unit that fits.
 *
 * `bps` is a whole number above 0. What is above 2 147 483 647 bit/s is rounded down to a whole kbit/s (above as many
 * kbit/s, to a whole Mbit/s). Throws `validation_failed` for anything else.
 */
export function encodeRate(bps: number): Doc {
  const { value, unit } = rateParts(bps)
  return { value: new Int32(value), unit: new Int32(unit) }
}

/** Value and unit as plain numbers, see `encodeRate`. */
export function rateParts(bps: number): { readonly value: number; readonly unit: number } {
  if (!Number.isSafeInteger(bps) || bps <= 0) {
    throw validationFailed('an AMBR must be a whole number of bit/s above 0')
  }
  let value = bps
  let unit = 0
  for (; value > VALUE_MAX; unit += 1) value = Math.floor(value / 1000)
  return { value, unit }
}

/** Uplink and downlink as the documents hold them. */
export function encodeAmbr(ambrBps: { readonly up: number; readonly down: number }): Doc {
  return { downlink: encodeRate(ambrBps.down), uplink: encodeRate(ambrBps.up) }
}

/** The rate that the HSS reads, bit/s: a value of another type than Int32 counts as 0 there, and so here. */
export function decodeRate(rate: unknown): number {
  const { value, unit } = (rate ?? {}) as { value?: unknown; unit?: unknown } // a stored document: checked below
  if (!isInt32(value) || (unit !== undefined && !isInt32(unit))) return 0
  return value.value * 1000 ** (unit?.value ?? 0)
}

/** Uplink and downlink as the HSS reads them. */
export function decodeAmbr(ambr: unknown): { readonly up: number; readonly down: number } {
  const { uplink, downlink } = (ambr ?? {}) as { uplink?: unknown; downlink?: unknown }
  return { up: decodeRate(uplink), down: decodeRate(downlink) }
}

/** The rate that whoever wrote it meant, bit/s, whatever the type of its numbers; undefined for none. */
export function meantAmbr(ambr: unknown): Ambr | undefined {
  const { uplink, downlink } = (ambr ?? {}) as { uplink?: unknown; downlink?: unknown }
  const [up, down] = [meantRate(uplink), meantRate(downlink)]
  return up > 0 && down > 0 ? { up, down } : undefined
}

function meantRate(rate: unknown): number {
  const { value, unit = 0 } = (rate ?? {}) as { value?: unknown; unit?: unknown } // a stored document
  const bps = Number(String(value)) * 1000 ** Number(String(unit))
  return Number.isSafeInteger(bps) ? bps : 0
}

/** What stands there when it says the same rates in other units, and nothing else; otherwise what should. */
export function keptAmbr(held: unknown, wanted: Doc): unknown {
  const [one, other] = [decodeAmbr(held), decodeAmbr(wanted)]
  const isSame = one.up === other.up && one.down === other.down
  return isSame && hasOnly(held, ['downlink', 'uplink']) && Object.values(held).every(isRate) ? held : wanted
}

function isRate(rate: unknown): boolean {
  return hasOnly(rate, ['value', 'unit']) && Object.values(rate).every(isInt32)
}

function hasOnly(value: unknown, names: readonly string[]): value is Doc {
  if (typeof value !== 'object' || value === null) return false
  const keys = Object.keys(value)
  return keys.length === names.length && names.every((name) => keys.includes(name))
}

/** Whether a stored number is an Int32. By its tag: a driver can bring its own copy of `bson`. */
export function isInt32(value: unknown): value is Int32 {
  return (value as { _bsontype?: unknown } | null | undefined)?._bsontype === 'Int32'
}
