import { isServiceError, ServiceError } from '@steeple/contracts'
import type { WireError } from './wire.ts'

/** An error as it crosses: those of the catalogue whole, of others the message. */
export function wireFromError(error: unknown): WireError {
  if (isServiceError(error)) {
    const { code, status, message, details, retryAfterS } = error
    return { code, status, message, details, retryAfterS }
  }
  const message = error instanceof Error ? error.message : String(error)
  return { code: undefined, status: undefined, message, details: undefined, retryAfterS: undefined }
}

/** The error that crossed, to be thrown on this side. */
export function errorFromWire({ code, status, message, details, retryAfterS }: WireError): Error {
  if (code === undefined || status === undefined) return new Error(message)
  return new ServiceError(code, status, message, {
    ...(details === undefined ? {} : { details }),
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  })
}
