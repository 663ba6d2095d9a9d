/**
 * SMS default alphabet by code, without its extension: the place of `ESC` is empty. TS 23.038 §6.2.1.
 */
const GSM =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\0ÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
const CODES: ReadonlyMap<string, number> = new Map(
  [...GSM].map((character, code) => [character, code] as const).filter(([character]) => character !== '\0'),
)
/** Octets of the name in EF.SPN, behind the display condition. TS 31.102 §4.2.12. */
const SPN_OCTETS = 16
/** Display condition: show the name of the network that the phone is on as well. TS 31.102 §4.2.12. */
const DISPLAY = 0x01

/** EF.SPN: display condition, and as much of `name` as there is room for. TS 31.102 §4.2.12. */
export function spnOctets(name: string): Uint8Array {
  const octets = new Uint8Array(1 + SPN_OCTETS).fill(0xff)
  octets[0] = DISPLAY
  octets.set(alphaIdentifier(name, SPN_OCTETS), 1)
  return octets
}

/**
 * A name in at most `room` octets, in the coding that keeps the most of it: SMS default alphabet with bit 8 zero, or UCS2
 * with a base for a half page of it (`81`, `82`) or plain (`80`). Characters that UCS2 has not become `?`.
 * TS 102 221 annex A.
 */
export function alphaIdentifier(name: string, room: number): Uint8Array {
  const units = [...name].map((character) => (character.length === 1 ? character : '?')).map(codeUnit)
  const coded = [
    inGsm(units, room),
    withBase(units, room, 0x81),
    withBase(units, room, 0x82),
    plain(units, room),
  ]
  return coded.reduce((best, one) => (one.kept > best.kept ? one : best)).octets
}

interface Coded {
  readonly octets: Uint8Array
  /** Characters. */
  readonly kept: number
}

function codeUnit(character: string): number {
  return character.charCodeAt(0)
}

function inGsm(units: readonly number[], room: number): Coded {
  const codes: number[] = []
  for (const unit of units.slice(0, room)) {
    const code = CODES.get(String.fromCharCode(unit))
    if (code === undefined) break
    codes.push(code)
  }
  return { octets: Uint8Array.from(codes), kept: codes.length }
}

function plain(units: readonly number[], room: number): Coded {
  const kept = units.slice(0, Math.floor((room - 1) / 2))
  return {
    octets: Uint8Array.of(0x80, ...kept.flatMap((unit) => [unit >> 8, unit & 0xff])),
    kept: kept.length,
  }
}

/** A base and characters of which each is in the default alphabet or in the 128 from the base on. */
function withBase(units: readonly number[], room: number, coding: 0x81 | 0x82): Coded {
  const strange = units.find((unit) => !CODES.has(String.fromCharCode(unit)))
  // A base of one octet is 15 bits of which the last seven are zero.
  const isFar = coding === 0x81 && (strange ?? 0) > 0x7fff
  if (strange === undefined || isFar) return { octets: new Uint8Array(0), kept: 0 }
  const base = coding === 0x81 ? strange & 0x7f80 : lowest(units, strange)
  const head = coding === 0x81 ? [base >> 7] : [base >> 8, base & 0xff]
  const codes: number[] = []
  for (const unit of units.slice(0, room - 2 - head.length)) {
    const code = CODES.get(String.fromCharCode(unit)) ?? (isOn(unit, base) ? 0x80 | (unit - base) : undefined)
    if (code === undefined) break
    codes.push(code)
  }
  return { octets: Uint8Array.of(coding, codes.length, ...head, ...codes), kept: codes.length }
}

function isOn(unit: number, base: number): boolean {
  return unit >= base && unit < base + 0x80
}

/** The lowest base that has the first strange character and all that follow as long as they fit on one half page. */
function lowest(units: readonly number[], first: number): number {
  let low = first
  let high = first
  for (const unit of units) {
    if (CODES.has(String.fromCharCode(unit))) continue
    if (Math.max(high, unit) - Math.min(low, unit) >= 0x80) break
    low = Math.min(low, unit)
    high = Math.max(high, unit)
  }
  return low
}
