import { readFile } from 'node:fs/promises'

/** One broken rule as the service reports it: where and what. */
export interface FaultDetail {
  readonly pointer: string
  readonly message: string
}

/** What may accompany a fault of a command. */
export interface CommandErrorExtra {
  readonly details?: readonly FaultDetail[]
  readonly requestId?: string | undefined
  /** What the person at the keyboard can do about it. */
  readonly hint?: string | undefined
  /** Seconds after which the service may say yes. */
  readonly retryAfterS?: number | undefined
  readonly cause?: unknown
}

/**
 * Why a command did not do what it was asked.
 *
 * - `exitCode`: 1 it failed, 2 it was called wrongly.
 * - `code`: the service's error code, or the command's own (`usage`, `unreachable`, `bad_answer`, …).
 * - `message`: one line; never a token.
 */
export class CommandError extends Error {
  readonly exitCode: number
  readonly code: string
  readonly details: readonly FaultDetail[]
  readonly requestId: string | undefined
  readonly hint: string | undefined
  readonly retryAfterS: number | undefined

  constructor(exitCode: number, code: string, message: string, extra: CommandErrorExtra = {}) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause })
    this.name = 'CommandError'
    this.exitCode = exitCode
    this.code = code
    this.details = extra.details ?? []
    this.requestId = extra.requestId
    this.hint = extra.hint
    this.retryAfterS = extra.retryAfterS
  }
}

/** The command was called wrongly (exit code 2). */
export function usageError(message: string): CommandError {
  return new CommandError(2, 'usage', message)
}

/** A file, or what it is to the command, cannot be read. */
export function unreadable(file: string, cause: unknown): CommandError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return failure('file_unreadable', `${file} cannot be read: ${reason}`, { cause })
}

/** What a file holds. Throws `file_unreadable`. */
export async function fileOf(file: string): Promise<Buffer<ArrayBuffer>> {
  return await readFile(file).catch((cause: unknown) => {
    throw unreadable(file, cause)
  })
}

/** The command could not do its work (exit code 1). */
export function failure(code: string, message: string, extra: CommandErrorExtra = {}): CommandError {
  return new CommandError(1, code, message, extra)
}
