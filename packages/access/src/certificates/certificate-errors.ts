import { defineError, type ErrorFactory } from '@steeple/contracts'

/** A user has no certificate with that serial. */
export const certificateNotFound: ErrorFactory = defineError(
  'certificate_not_found',
  404,
  'the user has no certificate %s',
)
