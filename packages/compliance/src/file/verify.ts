import { createHash, type Hash, hash, verify, X509Certificate } from 'node:crypto'
import { countText, msFromTimestamp, nodeUri } from '@steeple/contracts'
import { cellsOf, HEADER, plainCell } from './csv.ts'
import { manifestFrom, manifestLine, type SignedManifest, signedText } from './manifest.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const CR = 0x0d
const LF = 0x0a

/** Longer than any line: what goes on for so long is no file of ours, and is not held. */
const LONGEST = 4 * 1_048_576

/** A text that is no RFC 4180; the message says where. */
class NotCsv extends Error {}

/**
 * The lines of an RFC 4180 text with their CRLF, as octets. One line is held at a time. What is behind the last CRLF comes
 * at the end and has none. Rejects with `NotCsv`.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  const scan = scanner()
  let held: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let from = 0
    for (let at = 0; at < piece.length; at++) {
      if (!scan.isEnd(piece[at] ?? 0)) continue
      const line = piece.subarray(from, at + 1)
      yield held.length === 0 ? line : Buffer.concat([...held, line])
      held = []
      size = 0
      from = at + 1
    }
    if (from === piece.length) continue
    // A copy: the stream may use the memory again.
    held.push(Buffer.from(piece.subarray(from)))
    size += piece.length - from
    if (size > LONGEST) throw new NotCsv(`line ${scan.line()} is longer than ${LONGEST} octets`)
  }
  if (held.length > 0) yield Buffer.concat(held)
}

type CsvState = 'start' | 'plain' | 'quoted' | 'quote' | 'cr'
type Step = (octet: number) => CsvState

/** Follows the text octet by octet. */
function scanner(): { isEnd(octet: number): boolean; line(): number } {
  let state: CsvState = 'start'
  let line = 1
  const wrong = (what: string): NotCsv => new NotCsv(`line ${line} ${what}`)
  const outside: Step = (octet) => {
    if (octet === COMMA) return 'start'
    if (octet === CR) return 'cr'
    if (octet === LF) throw wrong('ends without a carriage return')
    return 'plain'
  }
  const steps: Readonly<Record<CsvState, Step>> = {
    start: (octet) => (octet === QUOTE ? 'quoted' : outside(octet)),
    plain: (octet) => {
      if (octet === QUOTE) throw wrong('has a quote in the middle of a cell')
      return outside(octet)
    },
    quoted: (octet) => (octet === QUOTE ? 'quote' : 'quoted'),
    quote: (octet) => {
      if (octet === QUOTE) return 'quoted'
      const after = outside(octet)
      if (after === 'plain') throw wrong('has something behind a closing quote')
      return after
    },
    cr: (octet) => {
      if (octet !== LF) throw wrong('has a carriage return in the middle')
      return 'start'
    },
  }
  return {
    isEnd: (octet) => {
      const wasCr = state === 'cr'
      state = steps[state](octet)
      if (wasCr) line += 1
      return wasCr
    },
    line: () => line,
  }
}

export interface FileFindings {
  /** What is wrong, in words; empty when the file is what its node made. */
  readonly problems: readonly string[]
  /** Rows between header and manifest that are there. */
  readonly rows: number
  /** Undefined when the file has none that can be read. */
  readonly manifest: SignedManifest | undefined
  /** SHA-256 (hex) of the CA in the manifest. */
  readonly caSha256: string | undefined
}

/**
 * Checks a file without the service that made it: its form, that no row is missing or was changed, the signature, and that
 * the certificate is one of `trusted` or was issued by one of them. The file is read once and never held.
 */
export async function verifyFile(
  chunks: AsyncIterable<Uint8Array>,
  trusted: readonly X509Certificate[],
): Promise<FileFindings> {
  const read = await readThrough(chunks)
  if (typeof read === 'string') return { problems: [read], rows: 0, manifest: undefined, caSha256: undefined }
  const { rows, sha256, last } = read
  const manifest = manifestIn(last)
  if (manifest === undefined) {
    const problem =
      'the file is cut off: its last line is no manifest; fetch it again, or ask for the whole of it'
    return { problems: [problem], rows, manifest, caSha256: undefined }
  }
  const problems: string[] = []
  if (!last.equals(Buffer.from(manifestLine(manifest), 'utf8')))
    problems.push('the manifest is not written as a node writes it: it was changed')
  if (rows !== manifest.rows)
    problems.push(`the file has ${countText(rows, 'row')}, and its manifest says ${manifest.rows}`)
  else if (sha256 !== manifest.sha256)
    problems.push(
      `a row was changed: the rows have the SHA-256 ${sha256}, the manifest says ${manifest.sha256}`,
    )
  const signed = signatureProblems(manifest, trusted)
  return { problems: [...problems, ...signed.problems], rows, manifest, caSha256: signed.caSha256 }
}

interface Read {
  readonly rows: number
  readonly sha256: string
  /** The last line with its CRLF. */
  readonly last: Buffer
}

/** Reads all lines; in words what makes it no file of this format. */
async function readThrough(chunks: AsyncIterable<Uint8Array>): Promise<Read | string> {
  const sum: Hash = createHash('sha256')
  let last: Buffer | undefined
  let lines = 0
  try {
    for await (const line of linesOf(chunks)) {
      lines += 1
      if (lines === 1 && line.toString('utf8') !== HEADER)
        return 'the first line is not the header of this format, so this is another file or another version of it'
      if (last !== undefined) sum.update(last)
      last = line
    }
  } catch (error) {
    if (!(error instanceof NotCsv)) throw error
    return `the file is no RFC 4180 text: ${error.message}`
  }
  if (last === undefined || lines === 1) return 'the file is cut off: it has no manifest'
  return { rows: lines - 2, sha256: sum.digest('hex'), last }
}

function manifestIn(octets: Buffer): SignedManifest | undefined {
  const line = octets.toString('utf8')
  if (!line.endsWith('\r\n')) return undefined
  const cells = cellsOf(line.slice(0, -2))
  return cells?.[0] === 'manifest' ? manifestFrom(plainCell(cells.at(-1) ?? '')) : undefined
}

function signatureProblems(
  manifest: SignedManifest,
  trusted: readonly X509Certificate[],
): { readonly problems: readonly string[]; readonly caSha256: string | undefined } {
  const certificate = certificateFrom(manifest.certificate)
  const ca = certificateFrom(manifest.ca)
  if (certificate === undefined || ca === undefined)
    return { problems: ['the manifest was changed: its certificates are damaged'], caSha256: undefined }
  const caSha256 = sha256Of(ca)
  if (!isSigned(manifest, certificate))
    return { problems: ['the manifest was changed: its signature does not hold'], caSha256 }
  const problems: string[] = []
  if (!isIssuedBy(certificate, ca)) problems.push('the certificate is not one of the CA beside it')
  const known = new Set(trusted.map(sha256Of))
  if (!known.has(caSha256) && !known.has(sha256Of(certificate)))
    problems.push(
      `a foreign signature: it is of the node ${manifest.node_id} under the CA with the SHA-256 ${caSha256}, which is not the one that was given`,
    )
  if (!`, ${certificate.subjectAltName ?? ''}, `.includes(`, URI:${nodeUri(manifest.node_id)}, `))
    problems.push(`the certificate is not one of the node ${manifest.node_id}`)
  const madeMs = msFromTimestamp(manifest.made_at)
  if (madeMs === undefined || !isValidAt(certificate, madeMs))
    problems.push(`the certificate was not valid at ${manifest.made_at}, when the file was made`)
  return { problems, caSha256 }
}

function isSigned(manifest: SignedManifest, certificate: X509Certificate): boolean {
  const signature = octetsFrom(manifest.signature)
  if (signature === undefined) return false
  try {
    return verify('sha256', signedText(manifest), certificate.publicKey, signature)
  } catch {
    // A certificate whose key cannot be read, or is of another kind.
    return false
  }
}

function isIssuedBy(certificate: X509Certificate, ca: X509Certificate): boolean {
  try {
    return ca.ca && certificate.checkIssued(ca) && certificate.verify(ca.publicKey)
  } catch {
    return false
  }
}

function isValidAt({ validFrom, validTo }: X509Certificate, ms: number): boolean {
  return Date.parse(validFrom) <= ms && ms <= Date.parse(validTo)
}

function certificateFrom(base64: string): X509Certificate | undefined {
  const der = octetsFrom(base64)
  if (der === undefined) return undefined
  try {
    const certificate = new X509Certificate(der)
    return certificate.raw.equals(der) ? certificate : undefined
  } catch {
    return undefined
  }
}

/** Base64 as an encoder writes it, and in no other way. */
function octetsFrom(base64: string): Buffer | undefined {
  const octets = Buffer.from(base64, 'base64')
  return octets.toString('base64') === base64 ? octets : undefined
}

function sha256Of({ raw }: X509Certificate): string {
  return hash('sha256', raw)
}
