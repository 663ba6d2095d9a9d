import { timingSafeEqual } from 'node:crypto'
import {
  type Ambr,
  type Imsi,
  type ImsiHash,
  isServiceError,
  msFromTimestamp,
  PLAIN_TEXT_PATTERN,
  validationFailed,
} from '@steeple/contracts'
import { formatPlmn, imsiHash, isImsiOf, opcFrom, type Plmn, parseIccid, parseImsi } from '@steeple/telecom'
import { MAX_BPS } from '../config.ts'
import { apnProblems } from '../issue/draw-sims.ts'
import { AS_IS, type AsIs } from '../provision/push.ts'
import type { Card } from '../secrets/card.ts'
import { ascii, octetsFromHex, wipe } from '../secrets/card.ts'
import { type Cells, type Column, withoutSecrets } from './columns.ts'

export interface ImportFacts {
  readonly plmn: Plmn
  readonly policyApns: readonly string[]
  readonly nowMs: number
  /** When a SIM expires whose row does not say. */
  readonly expiresAtMs: number
  /** Of a row that has none. */
  readonly label?: string | undefined
}

/** One row that can be imported. The caller wipes the card. */
export interface ImportDraft {
  readonly imsi: Imsi
  readonly hash: ImsiHash
  readonly card: Card
  readonly iccid: string | undefined
  readonly msisdn: string | null
  readonly profile: string
  readonly apns: readonly string[]
  readonly expiresAtMs: number
  /** Undefined when the row does not say. */
  readonly ambrBps: Ambr | undefined
  readonly label: string | null
  /** What the row does not say, and an HSS may. */
  readonly asIs: readonly AsIs[]
}

/** What became of reading a row: a draft, or what is wrong with it. Never a secret in the words. */
type ImportRow =
  | { readonly draft: ImportDraft; readonly hash: ImsiHash }
  | { readonly error: string; readonly hash: string | null }

const DIGITS = /^[0-9]+$/
/** TS 23.003 §2.2. */
const IMSI_DIGITS = 15
const PLAIN = new RegExp(PLAIN_TEXT_PATTERN)
const MAX_NAME = 64

/** Reads one row. The IMSI's hash is the caller's when it has it already. */
export function importRow(cells: Cells, facts: ImportFacts, known?: ImsiHash): ImportRow {
  const imsi = parseImsi(cells.get('imsi') ?? '')
  const problem = cells.get('problem')
  if (imsi === undefined)
    return { error: problem ?? `imsi must be 6 to 15 digits${damageOf(cells.get('imsi'))}`, hash: null }
  const hash = known ?? imsiHash(imsi)
  if (problem !== undefined) return { error: problem, hash }
  try {
    return { hash, draft: draftOf(imsi, hash, cells, facts) }
  } catch (error) {
    if (isServiceError(error) && error.code === validationFailed.code) return { error: error.message, hash }
    throw error
  }
}

function draftOf(imsi: Imsi, hash: ImsiHash, cells: Cells, facts: ImportFacts): ImportDraft {
  if (!isImsiOf(facts.plmn, imsi)) {
    const isShortened = [1, 2].some((zeros) => isOfNetwork(facts.plmn, '0'.repeat(zeros) + imsi))
    const hint = isShortened
      ? '; with leading zeros it is one: a spreadsheet has removed them. Format the column as text'
      : ''
    throw validationFailed(`imsi is not one of the network ${formatPlmn(facts.plmn)}${hint}`)
  }
  const iccid = iccidOf(cells)
  const rest = {
    msisdn: digitsOf(cells, 'msisdn', 3, 15),
    profile: nameOf(cells, 'profile') ?? 'default',
    label: nameOf(cells, 'label') ?? facts.label ?? null,
    apns: apnsOf(cells, facts),
    expiresAtMs: expiryOf(cells, facts),
    ambrBps: ambrOf(cells),
    asIs: asIsOf(cells),
  }
  const codes = {
    iccid: ascii(iccid ?? ''),
    adm1: admOf(cells),
    pin1: ascii(digitsOf(cells, 'pin1', 4, 8) ?? ''),
    puk1: ascii(digitsOf(cells, 'puk1', 8, 8) ?? ''),
    pin2: ascii(digitsOf(cells, 'pin2', 4, 8) ?? ''),
    puk2: ascii(digitsOf(cells, 'puk2', 8, 8) ?? ''),
  }
  return { imsi, hash, ...rest, iccid, card: { ...keysOf(cells), ...codes } }
}

function keysOf(cells: Cells): { readonly ki: Uint8Array; readonly opc: Uint8Array } {
  const ki = keyOf(cells, 'ki')
  if (ki === undefined) throw validationFailed('ki is missing')
  const auth = cells.get('auth')?.toLowerCase()
  if (auth !== undefined && auth !== 'mil' && auth !== 'milenage')
    throw validationFailed(
      'auth must be mil: keys of other algorithms than Milenage (TS 35.206) are not supported',
    )
  const isOp = cells.get('op_type')?.toLowerCase() === 'op'
  const opc = keyOf(cells, 'opc') ?? (isOp ? undefined : keyOf(cells, 'op_or_opc'))
  const op = keyOf(cells, 'op') ?? (isOp ? keyOf(cells, 'op_or_opc') : undefined)
  if (op === undefined) {
    if (opc === undefined) throw validationFailed('opc or op is missing')
    return { ki, opc }
  }
  const computed = opcFrom(ki, op)
  wipe(op)
  if (opc !== undefined && !timingSafeEqual(opc, computed)) {
    wipe(ki, opc, computed)
    throw validationFailed(
      'opc does not follow from ki and op (TS 35.206 §4.1): one of the three is wrong. Leave out opc or op',
    )
  }
  return { ki, opc: computed }
}

function keyOf(cells: Cells, column: Column): Uint8Array | undefined {
  const text = cells.get(column)
  if (text === undefined) return undefined
  const octets = octetsFromHex(ascii(text))
  if (octets?.length !== 16)
    throw validationFailed(`${column} must be 32 hexadecimal digits${damageOf(text, 32, true)}`)
  return octets
}

/** The ICCID as a row writes it, not checked, without the filler of 19 digits in 10 octets. */
export function iccidText(cells: Cells): string | undefined {
  return cells.get('iccid')?.replace(/[fF]$/, '')
}

/** A copy: it may be remembered to the end of the import, and a part of a text keeps the whole, which has the keys of its row. */
function iccidOf(cells: Cells): string | undefined {
  const text = iccidText(cells)
  if (text === undefined) return undefined
  if (parseIccid(text) === undefined)
    throw validationFailed(
      `iccid must be 19 or 20 digits that begin with 89 and end in their check digit${damageOf(text)}`,
    )
  return Buffer.from(text).toString()
}

const HEX_ADM = /^[0-9a-fA-F]{16}$/

/** ADM1 is 4 to 8 letters and digits, or 16 hexadecimal digits of any 8 octets. */
function admOf(cells: Cells): Uint8Array {
  const hex = cells.get('adm1_hex')
  if (hex !== undefined && !HEX_ADM.test(hex))
    throw validationFailed('adm1_hex (pin_adm_hex) must be 16 hexadecimal digits')
  const text = cells.get('adm1') ?? hex ?? ''
  if (text !== '' && !HEX_ADM.test(text) && !/^[!-~]{4,8}$/.test(text))
    throw validationFailed('adm1 must be 4 to 8 letters and digits, or 16 hexadecimal digits')
  return ascii(text)
}

function digitsOf(cells: Cells, column: Column, least: number, most: number): string | null {
  const text = (cells.get(column) ?? '').replace(/^\+/, '')
  if (text === '') return null
  if (DIGITS.test(text) && text.length >= least && text.length <= most) return text
  throw validationFailed(
    `${column} must be ${least === most ? least : `${least} to ${most}`} digits${damageOf(text, least, column !== 'msisdn')}`,
  )
}

/** A number that a spreadsheet has written with an exponent. */
const ROUNDED = /^[0-9]+([.,][0-9]+)?E\+?[0-9]+$/i
/** So short that it tells nobody an IMSI or an ICCID. */
const SHORT = 10

/** What a spreadsheet has done to a number, which no check of digits would tell. `least`: the digits that it has to have. */
function damageOf(text: string | undefined, least = 0, isSecret = false): string {
  if (text === undefined) return ''
  if (ROUNDED.test(text)) {
    const value = isSecret || text.length > SHORT ? 'this number' : `this number to ${text}`
    return `: a spreadsheet has rounded ${value}. Import the original file, or format the column as text before you paste into it`
  }
  if (/^[0-9]{15}0{3,5}$/.test(text))
    return ': it ends in zeros behind 15 digits, as a spreadsheet leaves a longer number. Import the original file'
  if (DIGITS.test(text) && text.length < least)
    return `: it has ${text.length}. A spreadsheet removes leading zeros; import the original file, or format the column as text before you paste into it`
  return ''
}

function isOfNetwork(plmn: Plmn, digits: string): boolean {
  const imsi = parseImsi(digits)
  return imsi !== undefined && digits.length === IMSI_DIGITS && isImsiOf(plmn, imsi)
}

function nameOf(cells: Cells, column: Column): string | null {
  const text = cells.get(column)
  if (text === undefined) return null
  if (text.length <= MAX_NAME && PLAIN.test(text)) return text
  throw validationFailed(`${column} must be at most ${MAX_NAME} characters, none of them a control character`)
}

function apnsOf(cells: Cells, { policyApns }: ImportFacts): readonly string[] {
  const text = cells.get('apns')
  if (text === undefined) return policyApns
  const apns = [...new Set(text.split(';').map((apn) => apn.trim()))].filter((apn) => apn !== '')
  const [problem] = apnProblems(apns, policyApns)
  if (problem !== undefined) throw validationFailed(`apns: ${withoutSecrets(problem.message)}`)
  return apns
}

function ambrOf(cells: Cells): Ambr | undefined {
  const [down, up] = [rateOf(cells, 'downlink_bps'), rateOf(cells, 'uplink_bps')]
  if (down === undefined && up === undefined) return undefined
  if (down === undefined || up === undefined)
    throw validationFailed('downlink_bps and uplink_bps go together: one of them is missing')
  return { down, up }
}

function rateOf(cells: Cells, column: 'downlink_bps' | 'uplink_bps'): number | undefined {
  const text = cells.get(column)
  if (text === undefined) return undefined
  const rate = DIGITS.test(text) ? Number(text) : 0
  if (rate >= 1 && rate <= MAX_BPS) return rate
  throw validationFailed(`${column} must be 1 to ${MAX_BPS} bit/s in digits`)
}

/** What the HSS is asked for: whoever is there already keeps what the row does not say. */
function asIsOf(cells: Cells): readonly AsIs[] {
  const said: Readonly<Record<AsIs, boolean>> = {
    apns: cells.has('apns'),
    ambr: cells.has('downlink_bps'),
    msisdn: cells.has('msisdn'),
    expires_at: cells.has('expires_at'),
  }
  return AS_IS.filter((what) => !said[what])
}

function expiryOf(cells: Cells, facts: ImportFacts): number {
  const text = cells.get('expires_at')
  if (text === undefined) return facts.expiresAtMs
  const atMs = msFromTimestamp(text)
  if (atMs !== undefined && atMs > facts.nowMs) return atMs
  throw validationFailed('expires_at must be an RFC 3339 timestamp in the future')
}
