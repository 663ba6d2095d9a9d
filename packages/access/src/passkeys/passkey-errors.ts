import { defineError, type ErrorFactory } from '@steeple/contracts'

/** The page, or who asks, can have no passkeys; the message says why and what works in their place. */
export const passkeyUnavailable: ErrorFactory = defineError('passkey_unavailable', 409, '%s')
/** A user has no passkey of that id. */
export const passkeyNotFound: ErrorFactory = defineError(
  'passkey_not_found',
  404,
  'there is no passkey %s; look for it in the list of passkeys',
)
