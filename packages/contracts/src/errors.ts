/** One broken rule of a request: where (JSON pointer into the body, query or params) and what. */
export interface ErrorDetail {
  readonly pointer: string
  readonly message: string
  /** Where a JSON Schema is broken, its keyword (`maximum`): a program says it in the words of its reader. */
  readonly rule?: string
  /** The bound of that keyword; the type or format that it asks for. */
  readonly limit?: number | string
}

/** What may accompany an error besides the values of its message. */
export interface ErrorExtra {
  readonly details?: readonly ErrorDetail[]
  readonly cause?: unknown
  /** Seconds after which another try can succeed; becomes `Retry-After`. */
  readonly retryAfterS?: number
}

/**
 * The only error class of the product. Test it by `code`, never by `instanceof`: a plugin may carry its own copy.
 *
 * - `code`: stable `snake_case` of the v1 catalogue; `status`: HTTP status (RFC 9110).
 * - `message`: names the thing, the value and the remedy; never a secret, never a raw IMSI.
 */
export class ServiceError extends Error {
  readonly code: string
  readonly status: number
  readonly details: readonly ErrorDetail[] | undefined
  readonly retryAfterS: number | undefined

  constructor(code: string, status: number, message: string, extra: ErrorExtra = {}) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause })
    this.name = 'ServiceError'
    this.code = code
    this.status = status
    this.details = extra.details
    this.retryAfterS = extra.retryAfterS
  }
}

/** Makes the errors of one code. `values` replace the `%s` of the template in order. */
export type ErrorFactory = ((...args: readonly (string | number | ErrorExtra)[]) => ServiceError) & {
  readonly code: string
  readonly status: number
}

/**
 * Declares an error of the catalogue: `defineError('sim_not_found', 404, 'no SIM %s')`.
 *
 * The factory takes one value for each `%s`, then optionally an `ErrorExtra`.
 */
export function defineError(code: string, status: number, template: string): ErrorFactory {
  const make = (...args: readonly (string | number | ErrorExtra)[]): ServiceError => {
    const last = args.at(-1)
    const extra = typeof last === 'object' ? last : {}
    const values = typeof last === 'object' ? args.slice(0, -1) : args
    let next = 0
    const message = template.replaceAll('%s', () => String(values[next++] ?? ''))
    return new ServiceError(code, status, message, extra)
  }
  return Object.assign(make, { code, status })
}

/** Whether `error` carries a code of the catalogue, whichever copy of this package made it. */
export function isServiceError(error: unknown): error is ServiceError {
  return (
    error instanceof Error &&
    typeof (error as Partial<ServiceError>).code === 'string' &&
    typeof (error as Partial<ServiceError>).status === 'number'
  )
}

/** What a thrown value says: the message of an error, anything else as text. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
