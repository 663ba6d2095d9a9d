import { luhnCheckDigit } from '../identity/iccid.ts'

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
