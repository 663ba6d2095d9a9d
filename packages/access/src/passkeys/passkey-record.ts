import {
  type JsonSchema,
  NULLABLE_TIMESTAMP_SCHEMA,
  objectSchema,
  PLAIN_TEXT_PATTERN,
  TIMESTAMP_SCHEMA,
  timestampFromMs,
  timestampOrNull,
} from '@steeple/contracts'
import type { PasskeyRow } from './passkey-store.ts'

/** base64url of at most so many characters. */
const octets = (maxLength: number): JsonSchema => ({
  type: 'string',
  pattern: '^[A-Za-z0-9_-]+$',
  maxLength,
})
/** W3C WebAuthn Level 3 §4: an id has at most 1,023 octets. */
export const PASSKEY_ID: JsonSchema = octets(1_364)
const CLIENT_DATA = octets(8_192)
/** Browsers add what they like around what is looked at: extensions, copies of the key, how the device is attached. */
const around = (
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
): JsonSchema => ({
  type: 'object',
  properties,
  required: [...required],
  maxProperties: 32,
})
const responseSchema = (inner: JsonSchema): JsonSchema =>
  around({ id: PASSKEY_ID, rawId: PASSKEY_ID, type: { const: 'public-key' }, response: inner }, [
    'id',
    'rawId',
    'type',
    'response',
  ])

/** The body of `POST /v1/auth/passkey/register/verify`. */
export const MADE_BODY: JsonSchema = objectSchema(
  {
    label: {
      type: 'string',
      minLength: 1,
      maxLength: 64,
      pattern: PLAIN_TEXT_PATTERN,
      description: 'What to know the passkey by in the list.',
    },
    response: {
      ...responseSchema(
        around(
          {
            clientDataJSON: CLIENT_DATA,
            attestationObject: octets(16_384),
            transports: { type: 'array', maxItems: 16, items: { type: 'string', maxLength: 32 } },
          },
          ['clientDataJSON', 'attestationObject'],
        ),
      ),
      description: 'What the credential of navigator.credentials.create gives with toJSON().',
    },
  },
  ['response'],
)

/** The body of `POST /v1/auth/passkey/verify`. */
export const SIGNED_BODY: JsonSchema = objectSchema(
  {
    response: {
      ...responseSchema(
        around(
          {
            clientDataJSON: CLIENT_DATA,
            authenticatorData: octets(8_192),
            signature: octets(2_048),
            userHandle: { type: ['string', 'null'], maxLength: 128 },
          },
          ['clientDataJSON', 'authenticatorData', 'signature'],
        ),
      ),
      description: 'What the credential of navigator.credentials.get gives with toJSON().',
    },
  },
  ['response'],
)

/** What both options routes answer. */
export const OPTIONS_SCHEMA: JsonSchema = objectSchema(
  {
    options: {
      type: 'object',
      additionalProperties: true,
      description:
        'As PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON takes them; good for five minutes, once.',
    },
  },
  ['options'],
)

/** A passkey in a list. */
export const PASSKEY_SCHEMA: JsonSchema = objectSchema(
  {
    id: { type: 'string' },
    label: { type: 'string' },
    host_name: { type: 'string', description: 'The name of this box for which it works.' },
    created_at: TIMESTAMP_SCHEMA,
    last_used_at: NULLABLE_TIMESTAMP_SCHEMA,
    disabled_at: {
      ...NULLABLE_TIMESTAMP_SCHEMA,
      description: 'When its count told that there is a copy of it; it opens nothing since.',
    },
  },
  ['id', 'label', 'host_name', 'created_at', 'last_used_at', 'disabled_at'],
)

/** A list of passkeys; short, so it has no pages. */
export const PASSKEYS_SCHEMA: JsonSchema = objectSchema(
  { passkeys: { type: 'array', items: PASSKEY_SCHEMA }, next_cursor: { type: 'null' } },
  ['passkeys', 'next_cursor'],
)

/** A passkey in a list. */
export function passkeyRecord(row: PasskeyRow): object {
  return {
    id: row.id,
    label: row.label,
    host_name: row.rp_id,
    created_at: timestampFromMs(row.created_at_ms),
    last_used_at: timestampOrNull(row.last_used_at_ms),
    disabled_at: timestampOrNull(row.disabled_at_ms),
  }
}
