import { createPrivateKey, createPublicKey, hash, type KeyObject } from 'node:crypto'
import {
  type JsonSchema,
  recordSchema,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  type Vault,
} from '@steeple/contracts'
import {
  type Certificate,
  isListSignedBy,
  nameText,
  publicKeyOf,
  type RevocationList,
  readCertificate,
} from '@steeple/sgp22'
import type { CertRow } from '../store/rows.ts'
import { isPublished } from './authority.ts'
import type { FoundInFiles } from './files.ts'

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

const TEXT: JsonSchema = { type: 'string' }
const RECORD: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string', description: 'SHA-256 of the certificate, hexadecimal.' },
  role: { type: 'string', description: 'ci, dpauth, dppb, dptls or eum.' },
  curve: { type: 'string', description: 'P-256 or brainpoolP256r1.' },
  ci_pkid: {
    type: 'string',
    description: 'Key identifier of the CI above it (of a CI its own), hexadecimal.',
  },
  owner: { type: ['string', 'null'], description: 'Registered id, dotted.' },
  subject: TEXT,
  issuer: TEXT,
  serial: { type: 'string', description: 'Hexadecimal.' },
  hosts: { type: 'array', items: TEXT, description: 'Host names and addresses that it is for.' },
  not_before: TIMESTAMP_SCHEMA,
  not_after: TIMESTAMP_SCHEMA,
  added_at: TIMESTAMP_SCHEMA,
  has_key: { type: 'boolean', description: 'Whether its private key is here, sealed. No answer holds it.' },
  is_test: {
    type: 'boolean',
    description:
      'Whether the private key of its CI is published (SGP.26): what is made with it is for tests alone.',
  },
  revoked: { type: 'boolean', description: 'Whether its issuer or somebody here has taken it back.' },
  in_use: { type: 'boolean', description: 'Whether sessions or the listener use it now.' },
}

/** A certificate as lists show it. */
export const CERT_SCHEMA: JsonSchema = recordSchema(RECORD)
export const CERT_PEM_SCHEMA: JsonSchema = recordSchema({ ...RECORD, pem: TEXT })

export function certRecord(
  { row, certificate, key, isRevoked = false }: HeldCertificate,
  inUse: ReadonlySet<string>,
): object {
  return {
    id: row.id,
    role: row.role,
    curve: row.curve,
    ci_pkid: row.ci_pkid,
    owner: row.owner === '' ? null : row.owner,
    subject: nameText(certificate.subject),
    issuer: nameText(certificate.issuer),
    serial: certificate.serial,
    hosts: [...certificate.dnsNames, ...certificate.addresses],
    not_before: timestampFromMs(row.not_before_ms),
    not_after: timestampFromMs(row.not_after_ms),
    added_at: timestampFromMs(row.added_at_ms),
    has_key: key !== undefined,
    is_test: isPublished(row.ci_pkid),
    revoked: isRevoked,
    in_use: inUse.has(row.id),
  }
}

/** PEM of a certificate. RFC 7468 §5. */
export function pemOf(der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** What a revoked certificate is known by: its issuer's key identifier and its serial number, whatever zeros are in front. */
export function revocationId(issuerKeyId: string, serial: string): string {
  return `${issuerKeyId.toLowerCase()} ${serial.toLowerCase().replace(/^0+(?=.)/, '')}`
}

/** That of a certificate; empty when it does not name its issuer's key. */
export function revocationIdOf({ authorityKeyId, serial }: Certificate): string {
  return authorityKeyId === undefined ? '' : revocationId(authorityKeyId, serial)
}

/** Why a revocation list is refused, undefined when it is not. One that is old is true all the same: nothing comes back. */
export function listProblem(list: RevocationList, cis: readonly Certificate[]): string | undefined {
  const above = cis.filter(({ subjectKeyId }) => subjectKeyId === list.authorityKeyId)
  if (above.length === 0)
    return `is the revocation list of the key ${list.authorityKeyId}, and no CERT.CI with it is here; add that CERT.CI`
  if (!above.some((ci) => ci.keyUsage.includes('cRLSign') && isListSignedBy(list, publicKeyOf(ci))))
    return 'is a revocation list that is not signed by the CERT.CI that it names; it is changed'
  return undefined
}

/** What good lists revoke, each once. */
export function revocationsIn(lists: FoundInFiles['lists']): ReadonlySet<string> {
  return new Set(
    lists.flatMap(({ list }) => list.serials.map((serial) => revocationId(list.authorityKeyId, serial))),
  )
}
