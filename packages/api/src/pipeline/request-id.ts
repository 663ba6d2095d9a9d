import { randomUUID } from 'node:crypto'

/** Contract section 2: what a client may choose. */
const GIVEN = /^[A-Za-z0-9._-]{1,64}$/

/**
 * A token of ours, or most of one, somewhere in the text. Whoever pastes one here by mistake must not have it in every
 * log line and audit entry.
 */
const TOKEN = /svcb?_[A-Za-z0-9_-]{32}/

/** The request id: the client's `X-Request-Id` when it is 1 to 64 of `[A-Za-z0-9._-]`, otherwise a new UUID. */
export function requestIdFrom(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && GIVEN.test(header) && !TOKEN.test(header) ? header : randomUUID()
}
