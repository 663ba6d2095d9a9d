import { randomUUID } from 'node:crypto'

/** Contract section 2: what a client may choose. */
const GIVEN = /^[A-Za-z0-9._-]{1,64}$/

/** The request id: the client's `X-Request-Id` when it is 1 to 64 of `[A-Za-z0-9._-]`, otherwise a new UUID. */
export function requestIdFrom(header: string | readonly string[] | undefined): string {
  return typeof header === 'string' && GIVEN.test(header) ? header : randomUUID()
}
