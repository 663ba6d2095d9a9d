import { gzipSync } from 'node:zlib'
import type { Reply } from '@steeple/contracts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { etagFrom } from '../pipeline/respond.ts'

/** A document that all its readers share, as it is and compressed. */
export interface Packed {
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  readonly etag: string
}

/** Packs a document once; it stays in memory. */
export function packDocument(content: Uint8Array | string): Packed {
  const plain = typeof content === 'string' ? Buffer.from(content) : content
  return { plain, gzip: gzipSync(plain, { level: 9 }), etag: etagFrom(plain) }
}

/** The answer to whoever asks for the document, compressed where the client takes that. Its route is `conditional`. */
export function documentReply(
  request: RequestContext,
  { plain, gzip, etag }: Packed,
  headers: Readonly<Record<string, string>>,
): Reply {
  const common = { ...headers, ETag: etag, 'Cache-Control': 'no-cache', Vary: 'Accept-Encoding' }
  if (!acceptsGzip(request.header('accept-encoding'))) return { body: plain, headers: common }
  return { body: gzip, headers: { ...common, 'Content-Encoding': 'gzip' } }
}

/** RFC 9110 §12.5.3, as far as it matters here: `gzip` is named and not refused. */
function acceptsGzip(header: string | undefined): boolean {
  return (
    /(^|,)\s*gzip\s*(;\s*q\s*=\s*(1|0\.0*[1-9]))?/i.test(header ?? '') &&
    !/gzip\s*;\s*q\s*=\s*0(\.0+)?\s*(,|$)/i.test(header ?? '')
  )
}
