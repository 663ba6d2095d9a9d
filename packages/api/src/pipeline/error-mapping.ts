import {
  ERROR_CATALOGUE,
  type ErrorCode,
  internal,
  isServiceError,
  notReady,
  pluginDependencyMissing,
  type ServiceError,
} from '@steeple/contracts'

/** The body of every error answer. */
export interface ErrorBody {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly details?: ServiceError['details']
  }
}

/**
 * What an answer says of a thrown value: errors of the catalogue and those that plugins declare as they are, anything
 * else `internal`. An error that says another status than was declared is not the one that was declared.
 */
export function answerableError(thrown: unknown, declared: readonly ErrorCode[]): ServiceError {
  if (!isServiceError(thrown)) return internal({ cause: thrown })
  if (thrown.code === pluginDependencyMissing.code) {
    return notReady('a part of the service that this route needs is not loaded', { cause: thrown })
  }
  const { code, status } = thrown
  const isPublic =
    ERROR_CATALOGUE.some((known) => known.code === code) ||
    declared.some((known) => known.code === code && known.status === status)
  return isPublic ? thrown : internal({ cause: thrown })
}

/** `{error: {code, message, details?}}`. */
export function errorBody(error: ServiceError): ErrorBody {
  const { code, message, details } = error
  return { error: details === undefined ? { code, message } : { code, message, details } }
}
