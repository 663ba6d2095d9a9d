import type { IncomingMessage } from 'node:http'

/** Headers of which a proxy and this service must not see different ones, by length. */
const SINGLE: ReadonlyMap<number, string> = new Map(
  ['Host', 'Authorization', 'X-Backup-Passphrase', 'Idempotency-Key'].map((name) => [name.length, name]),
)

/** What forbids to serve a request. */
export interface RequestProblem {
  readonly message: string
  /** Nobody can be sure where this request ends: nothing behind it on its connection is read. */
  readonly isFraming: boolean
}

/** What forbids to serve a request with these headers; undefined when nothing does. */
export function headerProblem(incoming: IncomingMessage): RequestProblem | undefined {
  const framing = framingProblem(incoming)
  if (framing !== undefined) return { message: framing, isFraming: true }
  const { headers, httpVersion, rawHeaders } = incoming
  const repeated = repeatedHeader(rawHeaders)
  if (repeated !== undefined) return { message: `the header ${repeated} was sent twice`, isFraming: false }
  // RFC 9112 §3.2
  const isNameless = headers.host === undefined && httpVersion === '1.1'
  return isNameless ? { message: 'the header Host is missing', isFraming: false } : undefined
}

/** Node takes any version and any list of codings that ends in `chunked` (RFC 9112 §2.3, §6.1). */
function framingProblem({ headers, httpVersion }: IncomingMessage): string | undefined {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    return `HTTP/${httpVersion} is not spoken here; send HTTP/1.1`
  }
  const coding = headers['transfer-encoding']
  if (coding === undefined) return undefined
  if (httpVersion === '1.0') return 'HTTP/1.0 has no Transfer-Encoding; send Content-Length or HTTP/1.1'
  if (coding.trim().toLowerCase() === 'chunked') return undefined
  return 'the only Transfer-Encoding that is read is chunked; send the body as it is'
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
