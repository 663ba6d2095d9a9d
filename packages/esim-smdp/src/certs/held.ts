import { createPrivateKey, createPublicKey, hash, type KeyObject } from 'node:crypto'
import type { Vault } from '@steeple/contracts'
import { type Certificate, readCertificate } from '@steeple/sgp22'
import type { CertRow } from '../store/rows.ts'

/** A certificate of the store, opened. */
export interface HeldCertificate {
  readonly row: CertRow
  readonly certificate: Certificate
  /** Undefined when this service does not have it. */
  readonly key: KeyObject | undefined
  /** Its issuer, or somebody here, has taken it back. */
  readonly isRevoked?: boolean
}

/** A certificate that is to be kept. */
export interface NewCertificate {
  readonly role: CertRow['role']
  readonly certificate: Certificate
  /** Subject key identifier of the CI above it, hexadecimal; of a CI its own. */
  readonly ciPkid: string
  readonly key: KeyObject | undefined
}

/** SHA-256 of the DER, hexadecimal: what certificates are called in the store and the API. */
export function certificateId(der: Uint8Array): string {
  return hash('sha256', der)
}

/** Whether the key, private or public, is that of the certificate. */
export function fits(key: KeyObject, certificate: Certificate): boolean {
  const spki = (key.type === 'public' ? key : createPublicKey(key)).export({ format: 'der', type: 'spki' })
  return Buffer.compare(spki, certificate.spki) === 0
}

/** The row of a certificate, its key sealed. */
export function sealedCertificate(kept: NewCertificate, vault: Vault, nowMs: number): CertRow {
  const { certificate, key } = kept
  const id = certificateId(certificate.raw)
  return {
    id,
    role: kept.role,
    ci_pkid: kept.ciPkid,
    curve: certificate.curve,
    owner: certificate.registeredId?.text ?? '',
    der: certificate.raw,
    key_sealed: key === undefined ? null : sealedKey(key, vault, id),
    not_before_ms: certificate.notBeforeMs,
    not_after_ms: certificate.notAfterMs,
    added_at_ms: nowMs,
  }
}

/** Opens a row. Throws `store_corrupt` (its key does not open), `X509Error`. */
export function openCertificate(row: CertRow, vault: Vault): HeldCertificate {
  const certificate = readCertificate(row.der)
  if (row.key_sealed === null) return { row, certificate, key: undefined }
  const pkcs8 = vault.open(row.key_sealed, rowId(row.id))
  try {
    // A copy of what is in the pool that Node reads into would outlive the wipe.
    const key = createPrivateKey({ key: pkcs8 as Buffer, format: 'der', type: 'pkcs8' })
    return { row, certificate, key }
  } finally {
    pkcs8.fill(0)
  }
}

function sealedKey(key: KeyObject, vault: Vault, id: string): Uint8Array {
  const pkcs8 = key.export({ format: 'der', type: 'pkcs8' })
  try {
    return vault.seal(pkcs8, rowId(id))
  } finally {
    pkcs8.fill(0)
  }
}

function rowId(id: string): string {
  return `esim_smdp_cert/${id}`
}
