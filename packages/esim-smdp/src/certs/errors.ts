import { defineError, type ErrorFactory } from '@steeple/contracts'

/** No certificate has that id. */
export const esimCertNotFound: ErrorFactory = defineError(
  'esim_cert_not_found',
  404,
  'there is no certificate %s; GET /v1/esim/certs has the ids',
)
/** There are certificates already, or others depend on it. */
export const esimCertConflict: ErrorFactory = defineError('esim_cert_conflict', 409, '%s')
