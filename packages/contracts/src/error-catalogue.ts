import { defineError, type ErrorDetail, type ErrorFactory, type ServiceError } from './errors.ts'
import { msFromTimestamp } from './timestamp.ts'

export const malformedJson: ErrorFactory = defineError(
  'malformed_json',
  400,
  'the body is not JSON: %s; correct it and send it again',
)
export const validationFailed: ErrorFactory = defineError('validation_failed', 400, '%s')

/** `validation_failed` of one field, by its JSON pointer: `/from must be before to`. */
export function fieldRefused(pointer: string, message: string): ServiceError {
  return validationFailed(`${pointer} ${message}`, { details: [{ pointer, message }] })
}

/** The same of several fields. */
export function fieldsRefused(details: readonly ErrorDetail[]): ServiceError {
  const message = details.map(({ pointer, message: what }) => `${pointer} ${what}`).join('; ')
  return validationFailed(message, { details })
}

/** Ms since the epoch of a field that is a timestamp. Throws `validation_failed`. */
export function timeField(pointer: string, text: string): number {
  const ms = msFromTimestamp(text)
  if (ms === undefined) throw fieldRefused(pointer, 'must be a timestamp such as 2026-11-01T00:00:00Z')
  return ms
}
export const invalidCursor: ErrorFactory = defineError(
  'invalid_cursor',
  400,
  'the cursor does not belong to this list and its filters; start again without one',
)
export const invalidLimit: ErrorFactory = defineError(
  'invalid_limit',
  400,
  'limit is %s; send one of 1 to 500',
)
export const backupInvalid: ErrorFactory = defineError(
  'backup_invalid',
  400,
  'the backup cannot be restored: %s',
)
export const backupVersionUnsupported: ErrorFactory = defineError(
  'backup_version_unsupported',
  400,
  'this version cannot read a backup of version %s or a later build; restore it with that version or a later one',
)
export const unauthenticated: ErrorFactory = defineError(
  'unauthenticated',
  401,
  'this route needs a credential: %s',
)
export const loginFailed: ErrorFactory = defineError(
  'login_failed',
  401,
  'the login failed; check what you entered and try again',
)
export const tokenExpired: ErrorFactory = defineError(
  'token_expired',
  401,
  'the token has expired; create another one',
)
export const certificateRevoked: ErrorFactory = defineError(
  'certificate_revoked',
  401,
  'the client certificate is revoked or expired; enroll again',
)
export const bootstrapTokenInvalid: ErrorFactory = defineError(
  'bootstrap_token_invalid',
  401,
  'the bootstrap token is unknown, used or expired; create another one',
)
export const forbidden: ErrorFactory = defineError(
  'forbidden',
  403,
  'this route needs the role %s; use a credential that has it',
)
export const notFound: ErrorFactory = defineError('not_found', 404, 'there is no %s')
export const featureNotInstalled: ErrorFactory = defineError(
  'feature_not_installed',
  404,
  'this service runs without the feature %s; load its plugin or use a build that has it',
)
export const nodeNotFound: ErrorFactory = defineError(
  'node_not_found',
  404,
  'there is no node %s; look for it in the list of nodes',
)
export const peerNotFound: ErrorFactory = defineError(
  'peer_not_found',
  404,
  'there is no peer %s; look for it in the list of peers',
)
export const tokenNotFound: ErrorFactory = defineError(
  'token_not_found',
  404,
  'there is no token %s; look for its id in the list of tokens',
)
export const userNotFound: ErrorFactory = defineError(
  'user_not_found',
  404,
  'there is no user %s; look for it in the list of users',
)
export const simNotFound: ErrorFactory = defineError(
  'sim_not_found',
  404,
  'there is no SIM %s; look for it in the list of SIMs',
)
export const pluginNotFound: ErrorFactory = defineError(
  'plugin_not_found',
  404,
  'there is no plugin %s; look for it in the list of plugins',
)
export const methodNotAllowed: ErrorFactory = defineError(
  'method_not_allowed',
  405,
  'the method %s is not allowed here; use %s',
)
export const invalidTransition: ErrorFactory = defineError('invalid_transition', 409, '%s')
export const simStateConflict: ErrorFactory = defineError('sim_state_conflict', 409, '%s')
export const simExists: ErrorFactory = defineError(
  'sim_exists',
  409,
  'the SIM %s exists already; choose another IMSI',
)
export const simSwapCooldown: ErrorFactory = defineError('sim_swap_cooldown', 409, '%s')
export const plmnMismatch: ErrorFactory = defineError('plmn_mismatch', 409, '%s')
export const txGateClosed: ErrorFactory = defineError('tx_gate_closed', 409, '%s')
export const txNotArmed: ErrorFactory = defineError('tx_not_armed', 409, '%s')
export const policyConflict: ErrorFactory = defineError(
  'policy_conflict',
  409,
  'the policy is at revision %s, not %s; read it again and repeat the change',
)
export const nodeStateConflict: ErrorFactory = defineError('node_state_conflict', 409, '%s')
export const peerExists: ErrorFactory = defineError('peer_exists', 409, '%s')
export const capacityExceeded: ErrorFactory = defineError('capacity_exceeded', 409, '%s')
export const idempotencyKeyReused: ErrorFactory = defineError(
  'idempotency_key_reused',
  409,
  'this Idempotency-Key was used %s; take a new key',
)
export const idempotencyInProgress: ErrorFactory = defineError(
  'idempotency_in_progress',
  409,
  'the first request with this Idempotency-Key is still running; try again later',
)
/** Code `plugin_state_conflict` is additive to the contract's list: a plugin change that the running set refuses. */
export const pluginStateConflict: ErrorFactory = defineError('plugin_state_conflict', 409, '%s')
/** Code `settings_fixed` is additive to the contract's list: a setting that the service cannot change where it is set. */
export const settingsFixed: ErrorFactory = defineError('settings_fixed', 409, '%s')
/** Code `stale_change` is additive to the contract's list: `If-Match` names something that is not there any more. */
export const staleChange: ErrorFactory = defineError(
  'stale_change',
  412,
  'somebody else has changed %s meanwhile; read it again and repeat the change',
)
/** Code `request_timeout` is additive to the contract's list: a request that does not arrive in time. */
export const requestTimeout: ErrorFactory = defineError(
  'request_timeout',
  408,
  'the request did not arrive within %s ms; send it again',
)
/** Code `headers_too_large` is additive to the contract's list: request line and headers together. */
export const headersTooLarge: ErrorFactory = defineError(
  'headers_too_large',
  431,
  'the request line and headers are larger than %s bytes; send less',
)
export const bodyTooLarge: ErrorFactory = defineError(
  'body_too_large',
  413,
  'the body is larger than %s bytes; send a smaller one',
)
export const unsupportedMediaType: ErrorFactory = defineError(
  'unsupported_media_type',
  415,
  'the media type %s is not accepted here; send %s',
)
export const rateLimited: ErrorFactory = defineError('rate_limited', 429, '%s')
export const internal: ErrorFactory = defineError(
  'internal',
  500,
  'the service failed; look for the request id in its log',
)
/** Code `store_corrupt` is additive to the contract's list: a stored row fails its checksum and is not served. */
export const storeCorrupt: ErrorFactory = defineError(
  'store_corrupt',
  500,
  'a stored row of %s fails its checksum and is not served; restore a backup (svc doctor says more)',
)
/** The same of a store whose structure is damaged, where a row was not found: it may be there all the same. */
export const rowsHidden: ErrorFactory = defineError(
  storeCorrupt.code,
  500,
  'the store is damaged, so this may exist or not; restore a backup (svc doctor says more)',
)
export const southboundUnavailable: ErrorFactory = defineError('southbound_unavailable', 503, '%s')
export const storeUnavailable: ErrorFactory = defineError(
  'store_unavailable',
  503,
  'the store cannot be written now; try again later: %s',
)
export const notReady: ErrorFactory = defineError('not_ready', 503, '%s')

/** Every error that an answer of the v1 API can carry. Codes are unique, stable within v1 and never reused. */
export const ERROR_CATALOGUE: readonly ErrorFactory[] = [
  malformedJson,
  validationFailed,
  invalidCursor,
  invalidLimit,
  backupInvalid,
  backupVersionUnsupported,
  unauthenticated,
  loginFailed,
  tokenExpired,
  certificateRevoked,
  bootstrapTokenInvalid,
  forbidden,
  notFound,
  featureNotInstalled,
  nodeNotFound,
  peerNotFound,
  tokenNotFound,
  userNotFound,
  simNotFound,
  pluginNotFound,
  methodNotAllowed,
  invalidTransition,
  simStateConflict,
  simExists,
  simSwapCooldown,
  plmnMismatch,
  txGateClosed,
  txNotArmed,
  policyConflict,
  nodeStateConflict,
  peerExists,
  capacityExceeded,
  idempotencyKeyReused,
  idempotencyInProgress,
  settingsFixed,
  staleChange,
  pluginStateConflict,
  requestTimeout,
  headersTooLarge,
  bodyTooLarge,
  unsupportedMediaType,
  rateLimited,
  internal,
  storeCorrupt,
  southboundUnavailable,
  storeUnavailable,
  notReady,
]

// Errors that stop a start or a plugin change. They reach a terminal or a plugin record, not an API client.
/** A configuration that cannot be used: one line per problem. */
export const configInvalid: ErrorFactory = defineError('config_invalid', 500, '%s')
/** A key file or directory that cannot be used or is open to others. */
export const secretsInvalid: ErrorFactory = defineError('secrets_invalid', 500, '%s')
/** A store that cannot be opened: damaged, newer than this version, or a change that its rules refuse. */
export const storeInvalid: ErrorFactory = defineError('store_invalid', 500, 'the store cannot be used: %s')
/** A data directory that another running service holds. */
export const dataDirInUse: ErrorFactory = defineError(
  'data_dir_in_use',
  500,
  'another svc uses %s; stop it, or give this one another --data-dir',
)
/** A step of a plugin's life that failed: which plugin, which step, why. */
export const pluginFailed: ErrorFactory = defineError('plugin_failed', 500, 'plugin %s failed at step %s: %s')
/** A service ref that nobody provides. */
export const pluginDependencyMissing: ErrorFactory = defineError(
  'plugin_dependency_missing',
  500,
  'nobody provides the service %s; load a plugin that does',
)
/** A configuration that the core does not get well with: which daemon, its last words, how the way back went. */
export const coreConfigRefused: ErrorFactory = defineError('core_config_refused', 500, '%s')

/** A limit of which nothing is left, as the RateLimit header fields say it. draft-ietf-httpapi-ratelimit-headers-10. */
export interface UsedLimit {
  readonly name: string
  readonly limit: number
  readonly windowS: number
  readonly resetS: number
}

/** The `rate_limited` of a limit that is used up. The edge reads `rate` off the error that it answers. */
export function overLimit(message: string, used: UsedLimit): ServiceError {
  const error = rateLimited(message, { retryAfterS: used.resetS })
  return Object.assign(error, { rate: { ...used, remaining: 0 } })
}
