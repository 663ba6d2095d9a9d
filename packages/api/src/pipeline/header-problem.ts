import type { IncomingMessage } from 'node:http'

/** Headers of which a proxy and this service must not see different ones, by length. */
const SINGLE: ReadonlyMap<number, string> = new Map(
  ['Host', 'Authorization', 'X-Backup-Passphrase', 'Idempotency-Key'].map((name) => [name.length, name]),
)

/** What forbids to serve a request with these headers, in words; undefined when nothing does. */
export function headerProblem({ headers, httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  const repeated = repeatedHeader(rawHeaders)
  if (repeated !== undefined) return `the header ${repeated} was sent twice`
  // RFC 9112 §3.2
  return headers.host === undefined && httpVersion === '1.1' ? 'the header Host is missing' : undefined
}

/**
 * The name of a header that decides who asks for what and was sent twice; undefined when there is none. Node keeps the
 * first of them without a word, somebody in front of us might have looked at the second (RFC 9110 §5.3, RFC 9112 §3.2).
 *
 * `raw` are names and values in turn.
 */
function repeatedHeader(raw: readonly string[]): string | undefined {
  let seen = 0
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    const single = SINGLE.get(name.length)
    if (single === undefined || name.toLowerCase() !== single.toLowerCase()) continue
    const bit = 1 << name.length
    if ((seen & bit) !== 0) return single
    seen |= bit
  }
  return undefined
}
