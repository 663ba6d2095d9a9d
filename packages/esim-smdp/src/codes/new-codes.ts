import type { SimCard, SimCredentials } from '@steeple/contracts'
import type { EsimParts } from '../parts.ts'
import type { NamedEuicc } from '../store/euicc-store.ts'
import type { CodeRow } from '../store/rows.ts'
import { activationCode, confirmationDigest, drawMatchingId, drawToken } from './activation.ts'
import { esimCodeConflict } from './conflict.ts'

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
