import type { Branded } from '../brand.ts'

/** Digits of an ICCID with its check digit. ITU-T E.118 §4. */
const ICCID = /^\d{18,20}$/
/** Digits of an IMSI. TS 23.003 §2.2. */
const IMSI = /^\d{6,15}$/
/** Octets of EF.IMSI. TS 31.102 §4.2.2. */
const IMSI_OCTETS = 9

/**
 * An ICCID in ten octets in the order of its digits, filled with `F`, as a profile header has it; 18 digits get their
 * check digit. Throws `RangeError`. ITU-T E.118, TCA 3.3 ProfileHeader.
 */
export function iccidOctets(iccid: string): Uint8Array {
  if (!ICCID.test(iccid)) throw new RangeError('an ICCID has 18 to 20 digits')
  const whole = iccid.length === 18 ? `${iccid}${luhnCheckDigit(iccid) ?? 0}` : iccid
  return nibbles(whole.padEnd(20, 'f'))
}

/** The same octets with the two halves of each changed over, as EF.ICCID has them. TS 102 221 §13.2. */
export function swapped(octets: Uint8Array): Uint8Array {
  return octets.map((octet) => ((octet & 0xf) << 4) | (octet >> 4))
}

/**
 * EF.IMSI: length, then parity and digits, two in an octet, the rest `F`. Throws `RangeError`. TS 31.102 §4.2.2,
 * TS 24.008 §10.5.1.4.
 */
export function imsiOctets(imsi: string): Uint8Array {
  if (!IMSI.test(imsi)) throw new RangeError('an IMSI has 6 to 15 digits')
  const parity = imsi.length % 2 === 1 ? '9' : '1'
  const used = Math.floor(imsi.length / 2) + 1
  const digits = swapped(nibbles((parity + imsi).padEnd(2 * (IMSI_OCTETS - 1), 'f')))
  const octets = new Uint8Array(IMSI_OCTETS)
  octets[0] = used
  octets.set(digits, 1)
  digits.fill(0)
  return octets
}

/** EF.ACC: the access class of a subscriber is its IMSI's last digit. TS 22.011 §4.2, TS 31.102 §4.2.15. */
export function accessClass(imsi: string): Uint8Array {
  const bits = 1 << Number(imsi.at(-1))
  return Uint8Array.of(bits >> 8, bits & 0xff)
}

/** MCC and MNC as in EF.PLMN: three octets. TS 24.008 §10.5.1.13. */
export function plmnOctets(mcc: string, mnc: string): Uint8Array {
  const [a, b, c] = [...mcc].map(Number)
  const [d, e, f] = [...mnc.padEnd(3, 'f')].map((digit) => Number.parseInt(digit, 16))
  const pair = (high = 0, low = 0): number => (high << 4) | low
  return Uint8Array.of(pair(b, a), pair(f, c), pair(e, d))
}

/** Country and network of an IMSI. */
export function plmnOf(imsi: string, mncLength: 2 | 3): { readonly mcc: string; readonly mnc: string } {
  return { mcc: imsi.slice(0, 3), mnc: imsi.slice(3, 3 + mncLength) }
}

/**
 * A secret code in eight octets: ASCII digits filled with `FF`; an administrative one of sixteen hexadecimal digits as
 * these are. Throws `RangeError`. TS 102 221 §9.5.
 */
export function codeOctets(digits: Uint8Array, name: string): Uint8Array {
  const isHex = digits.length === 16
  if (!isHex && (digits.length < 4 || digits.length > 8)) throw new RangeError(`${name} has 4 to 8 digits`)
  const octets = new Uint8Array(8).fill(0xff)
  if (isHex)
    for (let i = 0; i < 8; i++) octets[i] = (hexValue(digits[2 * i]) << 4) | hexValue(digits[2 * i + 1])
  else octets.set(digits)
  return octets
}

function hexValue(character = 0x30): number {
  return Number.parseInt(String.fromCharCode(character), 16)
}

function nibbles(digits: string): Uint8Array {
  const octets = new Uint8Array(digits.length / 2)
  for (let i = 0; i < octets.length; i++) octets[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16)
  return octets
}

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

/** The number of a SIM card or eSIM profile, check digit included. */
export type Iccid = Branded<string, 'Iccid'>

/** ITU-T E.118 §4: 89 for telecommunication; 19 digits with the check digit, 20 as GSM cards print them. */
const WITH_CHECK_DIGIT = /^89[0-9]{17,18}$/
const DIGITS = /^[0-9]+$/

/** The ICCID in a text of 19 or 20 digits that begin with 89 and end in their check digit; else `undefined`. */
export function parseIccid(text: string): Iccid | undefined {
  const isIccid = WITH_CHECK_DIGIT.test(text) && luhnCheckDigit(text.slice(0, -1)) === Number(text.at(-1))
  return isIccid ? (text as Iccid) : undefined // the check above is the brand's condition
}

/**
 * The digit, 0 to 9, that completes a row of digits by the Luhn formula; `undefined` when there is a non-digit.
 *
 * Source: ITU-T E.118 §4.1.4, ISO/IEC 7812-1 annex B.
 */
export function luhnCheckDigit(digits: string): number | undefined {
  if (!DIGITS.test(digits)) return undefined
  const sum = [...digits].reverse().reduce((total, digit, i) => total + luhnTerm(Number(digit), i), 0)
  return (10 - (sum % 10)) % 10
}

/** Every second digit counts double, from the one beside the check digit; a double's digits are added. */
function luhnTerm(digit: number, placeFromRight: number): number {
  if (placeFromRight % 2 === 1) return digit
  return digit > 4 ? digit * 2 - 9 : digit * 2
}
