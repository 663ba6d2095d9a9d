import { hash, randomBytes } from 'node:crypto'
import type { ClosedItems, Reader, Tx, Vault } from '@steeple/contracts'
import { Secret, TOTP } from 'otpauth'
import { RECOVERY_CODE } from '../closed-kinds.ts'
import {
  claimRecoveryCode,
  claimStep,
  findRecoveryCode,
  isUnused,
  replaceRecoveryCodes,
  TOTPS,
} from './second-factor-store.ts'

/** What proves the second factor, to be used up in the transaction of the login. */
export interface FactorProof {
  readonly kind: 'totp' | 'recovery'
  /** False when it was used before. */
  claim(tx: Tx, nowMs: number): Promise<boolean>
}

/** What a person gets once: to scan, to type, and to put away. */
interface FactorShown {
  readonly totp_uri: string
  readonly recovery_codes: readonly string[]
}

/** Recovery codes that are drawn and not stored yet. */
interface NewRecoveryCodes {
  readonly codes: readonly string[]
  /** Puts them, as hashes, in place of all that the user had. */
  store(tx: Tx): Promise<void>
}

/** A second factor that is drawn and not stored yet. */
interface NewFactor {
  readonly shown: FactorShown
  store(tx: Tx, nowMs: number): Promise<void>
}

/** RFC 4226 §4 R6: 160 bits. */
const SECRET_BYTES = 20
/** RFC 6238 §5.2 and contract section 1: one step either way. */
const WINDOW = 1
const PERIOD_S = 30
const DIGITS = 6
const RECOVERY_CODES = 10
/** 80 bits: nobody finds one by its hash. */
const RECOVERY_BYTES = 10
const TOTP_FORM = /^\d{6}$/
const RECOVERY_FORM = /^[A-Z2-7]{16}$/
/** Of nobody; what is computed with it is thrown away. */
const NO_SECRET = new Uint8Array(SECRET_BYTES)

/** Draws a secret and ten recovery codes. `issuer` and `name` are what the authenticator app shows. */
export function drawSecondFactor(vault: Vault, userId: string, issuer: string, name: string): NewFactor {
  const octets = randomBytes(SECRET_BYTES)
  // otpauth wants an ArrayBuffer of its own.
  const secret = new Secret({ buffer: new Uint8Array(octets).buffer })
  const totp = new TOTP({ issuer, label: name, secret, algorithm: 'SHA1', digits: DIGITS, period: PERIOD_S })
  const sealed = vault.seal(octets, aadOf(userId))
  octets.fill(0)
  const recovery = drawRecoveryCodes(userId)
  return {
    shown: { totp_uri: totp.toString(), recovery_codes: recovery.codes },
    store: async (tx, nowMs) => {
      await TOTPS.put(tx, { user_id: userId, secret: sealed, last_step: 0, created_at_ms: nowMs })
      await recovery.store(tx)
    },
  }
}

export function drawRecoveryCodes(userId: string): NewRecoveryCodes {
  const codes = Array.from({ length: RECOVERY_CODES }, drawRecoveryCode)
  return { codes, store: (tx) => replaceRecoveryCodes(tx, userId, codes.map(recoverySha256)) }
}

/**
 * What a code proves; undefined for a wrong one. Changes nothing. For a user that nobody is it does the same work.
 */
export async function proofOf(
  reader: Reader,
  vault: Vault,
  userId: string,
  code: string,
  { nowMs, closed }: { readonly nowMs: number; readonly closed: Pick<ClosedItems, 'among'> },
): Promise<FactorProof | undefined> {
  const text = code.replaceAll(/[\s-]/g, '').toUpperCase()
  if (RECOVERY_FORM.test(text)) {
    const sha256 = recoverySha256(text)
    const row = await findRecoveryCode(reader, userId, sha256)
    if (row === undefined || !isUnused(row)) return undefined
    if (row.used_at_ms !== null && (await closed.among(RECOVERY_CODE, [userId])).has(userId)) return undefined
    return { kind: 'recovery', claim: (tx, atMs) => claimRecoveryCode(tx, userId, sha256, atMs) }
  }
  const row = await TOTPS.find(reader, { user_id: userId })
  const octets = row === undefined ? NO_SECRET : vault.open(row.secret, aadOf(userId))
  const step = stepOf(octets, text, nowMs)
  octets.fill(0)
  if (row === undefined || step === undefined || step <= row.last_step) return undefined
  return { kind: 'totp', claim: (tx) => claimStep(tx, row, step) }
}

/** The time step that a code is of, within the window. RFC 6238 §4.2. */
function stepOf(octets: Uint8Array, text: string, nowMs: number): number | undefined {
  const secret = new Secret({ buffer: new Uint8Array(octets).buffer })
  const totp = new TOTP({ secret, algorithm: 'SHA1', digits: DIGITS, period: PERIOD_S })
  const token = TOTP_FORM.test(text) ? text : '000000'
  const delta = totp.validate({ token, timestamp: nowMs, window: WINDOW })
  if (delta === null || token !== text) return undefined
  return stepAt(nowMs) + delta
}

/** The time step of a moment. */
export function stepAt(nowMs: number): number {
  return Math.floor(nowMs / 1_000 / PERIOD_S)
}

/** AAD of a sealed secret: see `SealedColumns`. */
function aadOf(userId: string): string {
  return `access_totp/${userId}`
}

function drawRecoveryCode(): string {
  const octets = randomBytes(RECOVERY_BYTES)
  const text = new Secret({ buffer: new Uint8Array(octets).buffer }).base32
  return text.replace(/^(.{4})(.{4})(.{4})(.{4})$/, '$1-$2-$3-$4').toLowerCase()
}

function recoverySha256(code: string): string {
  return hash('sha256', code.replaceAll('-', '').toUpperCase())
}
