import { hash as digestOf } from 'node:crypto'
import type { Imsi, ImsiHash, Technology } from '@steeple/contracts'

/** TS 23.003 §19.4.2.3: the TAC of EPS has 16 bits. */
const LTE_TAC_MAX = 0xffff
/** TS 23.003 §28.6: the TAC of 5GS has 24 bits. */
const NR_TAC_MAX = 0xffffff

/** The highest tracking area code: 65535 in LTE, 16777215 in NR. The lowest is 0 in both. */
export function tacMax(technology: Technology): number {
  return technology === 'lte' ? LTE_TAC_MAX : NR_TAC_MAX
}

/**
 * Whether a number is a tracking area code of the technology.
 *
 * The values that the specification reserves for "no valid TAI" (0 and the highest but one) are codes too.
 */
export function isTac(technology: Technology, value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= tacMax(technology)
}

/**
 * A mobile network: country code of 3 digits, network code of 2 or 3. `01` and `001` are different networks.
 *
 * Source: TS 23.003 §2.2 and §12.1.
 */
export interface Plmn {
  readonly mcc: string
  readonly mnc: string
}

const MCC = /^[0-9]{3}$/
const MNC = /^[0-9]{2,3}$/
const PLMN = /^([0-9]{3})-([0-9]{2,3})$/

/** Whether a text is a mobile country code: 3 digits. */
export function isMcc(text: string): boolean {
  return MCC.test(text)
}

/** Whether a text is a mobile network code: 2 or 3 digits. */
export function isMnc(text: string): boolean {
  return MNC.test(text)
}

/** The network in a text of the form `999-99` or `310-410`; otherwise `undefined`. */
export function parsePlmn(text: string): Plmn | undefined {
  const [, mcc, mnc] = PLMN.exec(text) ?? []
  return mcc === undefined || mnc === undefined ? undefined : { mcc, mnc }
}

/** The network as text, `999-99`. */
export function formatPlmn(plmn: Plmn): string {
  return `${plmn.mcc}-${plmn.mnc}`
}

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
