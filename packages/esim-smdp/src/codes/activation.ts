import { createHash, randomBytes } from 'node:crypto'
import type { SimCard, SimCredentials, Vault } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import type { NamedEuicc } from '../store/euicc-store.ts'
import type { CodeRow } from '../store/rows.ts'
import { esimCodeConflict } from './conflict.ts'

/** The activation code of a code that is stored. Throws `store_corrupt`. */
export function activationOf(vault: Vault, row: CodeRow): string {
  const octets = vault.open(row.matching_sealed, `esim_smdp_code/${row.token}`)
  try {
    const matchingId = Buffer.from(octets).toString('ascii')
    return activationCode(row.smdp_address, matchingId, row.confirmation_sealed !== null)
  } finally {
    octets.fill(0)
  }
}

/** 26 characters of 5 bits: 130. */
const MATCHING_CHARACTERS = 26
const TOKEN_CHARACTERS = 20

/** A matching id: the one secret of an activation code. */
export function drawMatchingId(): string {
  return base32(randomBytes(MATCHING_CHARACTERS))
}

/** A code's own id, `e-` and 20 random letters and digits: no secret, it opens nothing. */
export function drawToken(): string {
  return `e-${base32(randomBytes(TOKEN_CHARACTERS)).toLowerCase()}`
}

/** What is kept of a confirmation code, and what a phone's hash is held against: its SHA-256. SGP.22 §3.1.3. */
export function confirmationDigest(code: string): Buffer {
  return createHash('sha256').update(code, 'utf8').digest()
}

/** A matching id: 130 random bits. SGP.22 §4.1.1 allows upper-case letters, digits and hyphens; without I, L, O and U it can be read aloud. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * The activation code of a profile, `LPA:1$<address>$<matching id>`, with `$$1` behind it when a confirmation code is asked
 * for (the empty field would be the SM-DP+'s OID). SGP.22 §4.1.
 */
export function activationCode(address: string, matchingId: string, isConfirmed: boolean): string {
  // Of a provider's code the OID stands behind the matching id already.
  const flag = matchingId.includes('$') ? '$1' : '$$1'
  return `LPA:1$${address}$${matchingId}${isConfirmed ? flag : ''}`
}

/**
 * The text of its QR code: the address in upper case, as matching ids of this service are, so that QR stores it in fewer
 * modules. Host names know no case; a matching id of somebody's order stays as it is.
 */
export function qrText(code: string): string {
  const [format = '', address = '', ...rest] = code.split('$')
  return [format, address.toUpperCase(), ...rest].join('$')
}

/** 32 characters for octets of a random source: 5 bits of each are used, all alike. */
export function base32(octets: Uint8Array): string {
  return Array.from(octets, (octet) => ALPHABET.charAt(octet & 31)).join('')
}

/** What all codes of one request share. */
export interface CodeTerms {
  readonly smdpAddress: string
  readonly isSingleUse: boolean
  readonly confirmationCode: string | undefined
  /** The only one that gets it. */
  readonly euicc: NamedEuicc | undefined
  readonly nowMs: number
  readonly expiresAtMs: number
}

/** A code that is drawn and sealed, but not in the store yet, with what is shown of it once. */
export interface NewCode {
  readonly row: CodeRow
  readonly activationCode: string
}

/**
 * Draws a code for a SIM. `credentials` are the SIM's; the ICCID alone is read, and they are wiped.
 * Throws `esim_code_conflict` for a SIM without an ICCID.
 */
export async function newCode(
  { vault, lookup }: EsimParts,
  card: SimCard,
  credentials: SimCredentials,
  terms: CodeTerms,
): Promise<NewCode> {
  const iccid = Buffer.from(credentials.iccid).toString('ascii')
  credentials.wipe()
  if (iccid === '')
    throw esimCodeConflict(
      `the SIM ${card.imsi} has no ICCID, which a profile must have; import it with one, or issue a new SIM with replaces`,
    )
  const token = drawToken()
  const matchingId = drawMatchingId()
  const aad = `esim_smdp_code/${token}`
  const { confirmationCode, euicc, nowMs } = terms
  const row: CodeRow = {
    token,
    hash: card.imsi,
    state: 'released',
    matching_mac: await lookup.mac(matchingId),
    matching_sealed: vault.seal(Buffer.from(matchingId, 'ascii'), aad),
    confirmation_sealed:
      confirmationCode === undefined ? null : vault.seal(confirmationDigest(confirmationCode), aad),
    iccid_mac: await lookup.mac(iccid),
    iccid_last4: iccid.slice(-4),
    eid_hash: euicc?.hash ?? null,
    eid_last4: euicc?.eid.slice(-4) ?? null,
    smdp_address: terms.smdpAddress,
    single_use: terms.isSingleUse ? 1 : 0,
    attempts: 0,
    confirmation_attempts: 0,
    downloads: 0,
    last_error: null,
    batch_id: card.batchId ?? null,
    created_at_ms: nowMs,
    expires_at_ms: terms.expiresAtMs,
    changed_at_ms: nowMs,
  }
  return {
    row,
    activationCode: activationCode(terms.smdpAddress, matchingId, confirmationCode !== undefined),
  }
}
