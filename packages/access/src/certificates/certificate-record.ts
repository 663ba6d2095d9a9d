import {
  DURATION_PATTERN,
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { CertificateRow } from './certificate-store.ts'

/** A request for a key of P-256 has below 1,000. */
const MOST_REQUEST_CHARS = 4_096

/** The body of `POST /v1/users/{id}/certificates`. */
export interface CertificateBody {
  readonly csr_pem: string
  readonly label?: string
  readonly expires_in?: string
}

/** Its schema. */
export const CERTIFICATE_BODY: JsonSchema = objectSchema(
  {
    csr_pem: {
      type: 'string',
      maxLength: MOST_REQUEST_CHARS,
      description:
        'PKCS #10, PEM, ECDSA over P-256 with SHA-256. Its subject is ignored; one that asks to be a CA, or for a name that is not the user, is refused. The private key stays where it was made.',
    },
    label: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: PLAIN_TEXT_PATTERN,
      description: 'What to know it by in the list, e.g. the machine that it is on.',
    },
    expires_in: {
      type: 'string',
      pattern: DURATION_PATTERN,
      maxLength: 64,
      description: 'A duration such as 30d, at most 397d; 90d when absent.',
    },
  },
  ['csr_pem'],
)

const CREATED_BY: JsonSchema = objectSchema(
  { kind: { type: 'string' }, id: { type: 'string' }, name: { type: 'string' } },
  ['kind', 'id', 'name'],
)
const COMMON: Readonly<Record<string, JsonSchema>> = {
  serial: { type: 'string', description: 'Hexadecimal, lower case, without leading zeros.' },
  name: { type: 'string', description: 'The certificate says URI:svc://cli/<name>.' },
  label: { type: 'string' },
  expires_at: TIMESTAMP_SCHEMA,
}

/** A certificate in the list. */
export const CERTIFICATE_SCHEMA: JsonSchema = objectSchema(
  { ...COMMON, issued_at: TIMESTAMP_SCHEMA, revoked_at: NULLABLE_TIMESTAMP_SCHEMA, created_by: CREATED_BY },
  ['serial', 'name', 'label', 'issued_at', 'expires_at', 'revoked_at', 'created_by'],
)

/** A certificate as answered to whoever asked for it. */
export const NEW_CERTIFICATE_SCHEMA: JsonSchema = objectSchema(
  {
    ...COMMON,
    certificate_pem: { type: 'string' },
    ca_pem: { type: 'string', description: 'The CA of this box, which signed it and what the box serves.' },
  },
  ['serial', 'name', 'label', 'expires_at', 'certificate_pem', 'ca_pem'],
)

/** A certificate in the list. */
export function certificateRecord(row: CertificateRow): object {
  return {
    serial: row.serial,
    name: row.name,
    label: row.label,
    issued_at: timestampFromMs(row.issued_at_ms),
    expires_at: timestampFromMs(row.expires_at_ms),
    revoked_at: timestampOrNull(row.revoked_at_ms),
    // Written by createdByText.
    created_by: JSON.parse(row.created_by) as object,
  }
}

/** A certificate as answered to whoever asked for it. */
export function newCertificateRecord(row: CertificateRow, pem: string, caPem: string): object {
  return {
    serial: row.serial,
    name: row.name,
    label: row.label,
    expires_at: timestampFromMs(row.expires_at_ms),
    certificate_pem: pem,
    ca_pem: caPem,
  }
}
