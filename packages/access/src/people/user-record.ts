import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  type Reader,
  recordSchema,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import { TOKEN_ROLES } from '../token-owner.ts'
import { countRecoveryCodes } from './second-factor-store.ts'
import { rolesOfUser, type UserRow } from './user-store.ts'

/** Of a user's name. */
export const USER_NAME_PATTERN = '^[A-Za-z0-9]([A-Za-z0-9._@-]*[A-Za-z0-9])?$'
export const MOST_NAME_CHARS = 64
/** NIST SP 800-63B §3.1.1: long rather than complicated. */
export const LEAST_PASSWORD_CHARS = 12
export const MOST_PASSWORD_CHARS = 256

/** What the name of a user looks like: it is part of certificates, URIs and QR codes. */
export const USER_NAME_SCHEMA: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: MOST_NAME_CHARS,
  pattern: USER_NAME_PATTERN,
  description: 'Letters, digits and . _ @ -. Capitals do not make another name.',
}
export const NEW_PASSWORD_SCHEMA: JsonSchema = {
  type: 'string',
  minLength: LEAST_PASSWORD_CHARS,
  maxLength: MOST_PASSWORD_CHARS,
}
/** The roles that a person may have: as those of a token. */
export const USER_ROLES_SCHEMA: JsonSchema = {
  type: 'array',
  minItems: 1,
  maxItems: TOKEN_ROLES.length,
  uniqueItems: true,
  items: { type: 'string', enum: TOKEN_ROLES },
}

const USER_FIELDS: Readonly<Record<string, JsonSchema>> = {
  id: { type: 'string' },
  name: { type: 'string' },
  roles: { type: 'array', items: { type: 'string' } },
  created_at: TIMESTAMP_SCHEMA,
  last_login_at: NULLABLE_TIMESTAMP_SCHEMA,
  recovery_codes_left: { type: 'integer' },
}
export const USER_SCHEMA: JsonSchema = recordSchema(USER_FIELDS)

/** Recovery codes as answered once. */
export const RECOVERY_CODES_SCHEMA: JsonSchema = {
  type: 'array',
  items: { type: 'string' },
  description: 'Ten, each good once in place of a code. Shown here and never again.',
}

const SHOWN: Readonly<Record<string, JsonSchema>> = {
  totp_uri: {
    type: 'string',
    description: 'For the authenticator, as a QR code. Shown here and never again.',
  },
  recovery_codes: RECOVERY_CODES_SCHEMA,
  password: { type: 'string', description: 'Only when it was drawn here. Shown here and never again.' },
}
/** A user as answered once to whoever made or reset it. */
export const NEW_USER_SCHEMA: JsonSchema = objectSchema({ ...USER_FIELDS, ...SHOWN }, [
  ...Object.keys(USER_FIELDS),
  'totp_uri',
  'recovery_codes',
])
/** A second factor as answered once. */
export const NEW_FACTOR_SCHEMA: JsonSchema = recordSchema({
  id: { type: 'string' },
  totp_uri: SHOWN.totp_uri ?? {},
  recovery_codes: RECOVERY_CODES_SCHEMA,
})

export async function userRecord(reader: Reader, row: UserRow): Promise<object> {
  return {
    id: row.id,
    name: row.name,
    roles: rolesOfUser(row),
    created_at: timestampFromMs(row.created_at_ms),
    last_login_at: timestampOrNull(row.last_login_at_ms),
    recovery_codes_left: await countRecoveryCodes(reader, row.id),
  }
}
