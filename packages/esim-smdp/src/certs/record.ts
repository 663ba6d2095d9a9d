import { type JsonSchema, recordSchema, TIMESTAMP_SCHEMA, timestampFromMs } from '@steeple/contracts'
import { nameText } from '@steeple/sgp22'
import { isPublished } from './authority.ts'
import type { HeldCertificate } from './held.ts'

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
