import { hash as digestOf } from 'node:crypto'
import type { Imsi, ImsiHash } from '@steeple/contracts'
import type { Plmn } from './plmn.ts'

/** TS 23.003 §2.2: an IMSI has at most 15 digits. */
const IMSI_MAX_DIGITS = 15
/** TS 23.003 §2.2: MCC of 3 and MNC of 2 digits, followed by at least one digit of MSIN. */
const IMSI_MIN_DIGITS = 6
/** Hexadecimal characters of the public identifier of a subscriber. */
const HASH_LENGTH = 12
const DIGITS = /^[0-9]+$/
const HASH = /^[0-9a-f]{12}$/

/** The IMSI in a text of 6 to 15 ASCII digits, nothing around them; otherwise `undefined`. */
export function parseImsi(text: string): Imsi | undefined {
  const isImsi = text.length >= IMSI_MIN_DIGITS && text.length <= IMSI_MAX_DIGITS && DIGITS.test(text)
  return isImsi ? (text as Imsi) : undefined // the check above is the brand's condition
}

/**
 * The IMSI of a subscriber number (MSIN) in a network; `undefined` when the MSIN is not digits or too long.
 *
 * The MSIN may have 10 digits after a 2-digit MNC and 9 after a 3-digit one. Source: TS 23.003 §2.2.
 */
export function imsiFrom(plmn: Plmn, msin: string): Imsi | undefined {
  return msin === '' ? undefined : parseImsi(`${plmn.mcc}${plmn.mnc}${msin}`)
}

/** Whether an IMSI belongs to a network: it begins with its MCC and MNC and has an MSIN after them. */
export function isImsiOf(plmn: Plmn, imsi: Imsi): boolean {
  const prefix = `${plmn.mcc}${plmn.mnc}`
  return imsi.startsWith(prefix) && imsi.length > prefix.length
}

/** The public identifier of a subscriber. Two IMSIs can share one (48 bits); the issuer refuses such a clash. */
export function imsiHash(imsi: Imsi): ImsiHash {
  const hash = digestOf('sha256', imsi).slice(0, HASH_LENGTH)
  return hash as ImsiHash // 12 hexadecimal characters by construction
}

/** The identifier in a text of 12 lower-case hexadecimal characters; otherwise `undefined`. */
export function parseImsiHash(text: string): ImsiHash | undefined {
  return HASH.test(text) ? (text as ImsiHash) : undefined // the check above is the brand's condition
}
