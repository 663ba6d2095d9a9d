/** Why an eUICC does not authenticate a server. SGP.22 §5.7.13, AuthenticateErrorCode. */
export const AUTHENTICATE_ERROR = {
  invalidCertificate: 1,
  invalidSignature: 2,
  unsupportedCurve: 3,
  noSessionContext: 4,
  invalidOid: 5,
  euiccChallengeMismatch: 6,
  ciPkUnknown: 7,
  undefinedError: 127,
} as const

/** Why an eUICC does not prepare a download. SGP.22 §5.7.5, DownloadErrorCode. */
export const DOWNLOAD_ERROR = {
  invalidCertificate: 1,
  invalidSignature: 2,
  unsupportedCurve: 3,
  noSessionContext: 4,
  invalidTransactionId: 5,
  undefinedError: 127,
} as const

/** Why an eUICC does not cancel a session. SGP.22 §5.7.14. */
export const CANCEL_ERROR = { invalidTransactionId: 5, undefinedError: 127 } as const

/** Why a session is cancelled. SGP.22 §5.7.14, CancelSessionReason. */
export const CANCEL_REASON = {
  endUserRejection: 0,
  postponed: 1,
  timeout: 2,
  pprNotAllowed: 3,
  metadataMismatch: 4,
  loadBppExecutionError: 5,
  undefinedReason: 127,
} as const

/** The command of a bound profile package in which it went wrong. SGP.22 §5.7.6, BppCommandId. */
export const BPP_COMMAND = {
  initialiseSecureChannel: 0,
  configureIsdp: 1,
  storeMetadata: 2,
  storeMetadata2: 3,
  replaceSessionKeys: 4,
  loadProfileElements: 5,
} as const

/** What went wrong with a bound profile package. SGP.22 §5.7.6, ErrorReason. */
export const BPP_ERROR = {
  incorrectInputValues: 1,
  invalidSignature: 2,
  invalidTransactionId: 3,
  unsupportedCrtValues: 4,
  unsupportedRemoteOperationType: 5,
  unsupportedProfileClass: 6,
  scp03tStructureError: 7,
  scp03tSecurityError: 8,
  iccidAlreadyExists: 9,
  insufficientMemory: 10,
  interruption: 11,
  peProcessingError: 12,
  dataMismatch: 13,
  testProfileInvalidNaaKey: 14,
  pprNotAllowed: 15,
  unknownError: 127,
} as const

/** How enabling, disabling or deleting ended. SGP.22 §5.7.16 to §5.7.18. */
export const PROFILE_RESULT = {
  ok: 0,
  notFound: 1,
  wrongState: 2,
  disallowedByPolicy: 3,
  undefinedError: 127,
} as const

/** A number out of one of the lists above. */
export type Code<T> = T[keyof T]

/** A command that an eUICC refuses with a code of its answer. */
export class Refusal extends Error {
  readonly code: number

  constructor(code: number, what: string, options?: ErrorOptions) {
    super(what, options)
    this.name = 'Refusal'
    this.code = code
  }
}

/** A command that is none: the card answers it with a status word alone. ISO/IEC 7816-4 §5.6. */
export class CommandError extends Error {
  /** `0x6a80` and the like. */
  readonly status: number

  constructor(status: number, what: string, options?: ErrorOptions) {
    super(`${what} (${status.toString(16)})`, options)
    this.name = 'CommandError'
    this.status = status
  }
}

/** A refusal that another error led to. */
export function refusalFrom(cause: unknown, code: number, what: string): Refusal {
  return new Refusal(code, what, { cause })
}

/** A status word that another error led to. */
export function commandErrorFrom(cause: unknown, status: number, what: string): CommandError {
  return new CommandError(status, what, { cause })
}

/** Status words of a card. ISO/IEC 7816-4 table 6. */
export const STATUS = {
  ok: 0x9000,
  wrongLength: 0x6700,
  channelNotSupported: 0x6881,
  conditionsNotSatisfied: 0x6985,
  wrongData: 0x6a80,
  notFound: 0x6a82,
  noMemory: 0x6a84,
  wrongParameters: 0x6a86,
  referencedDataNotFound: 0x6a88,
  instructionNotSupported: 0x6d00,
  classNotSupported: 0x6e00,
} as const
