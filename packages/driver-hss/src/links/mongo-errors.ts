/** Depth to which causes are followed; an error can name itself. */
const CAUSES_MAX = 5
/** An error code of the system (`ECONNREFUSED`) or a number of the server. */
const CODE = /^(?:[A-Z][A-Z0-9_]{1,40}|-?[0-9]{1,9})$/

/** The code of an error; undefined when it has none. */
export function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | undefined)?.code
}

/** Whether the server has answered, and refused: the connection is as good as before. */
export function isRefusal(error: unknown): boolean {
  const { errorResponse } = (error ?? {}) as { errorResponse?: unknown } // of a MongoServerError
  return errorResponse !== undefined
}

/**
 * The kind of an error and of what is behind it: `MongoServerSelectionError: MongoNetworkError ECONNREFUSED`. Names and
 * codes alone: words can hold what was written.
 */
export function causeOf(error: unknown): string {
  const kinds: string[] = []
  for (let at = error; at instanceof Error && kinds.length < CAUSES_MAX; at = behind(at)) {
    const code = String(codeOf(at) ?? '')
    const name = at.name === 'Error' && CODE.test(code) ? '' : at.name
    const kind = [name, CODE.test(code) ? code : ''].filter((word) => word !== '').join(' ')
    if (kinds.at(-1) !== kind) kinds.push(kind)
  }
  return kinds.length === 0 ? 'unknown' : kinds.join(': ')
}

/** What an error was made of; of a failed selection, why the first of the servers cannot be used. */
function behind(error: Error): unknown {
  const { cause, reason } = error as { cause?: unknown; reason?: { servers?: unknown } } // each is checked below
  const servers = reason?.servers
  const [first] = servers instanceof Map ? [...servers.values()] : []
  return first?.error ?? cause
}
