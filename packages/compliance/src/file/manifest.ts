import { createHash } from 'node:crypto'
import { isRecord } from '@steeple/contracts'
import { type ExportRow, HEADER, rowLine } from './csv.ts'

/** Octets of one piece, about. */
const PIECE = 65_536

/** What of a manifest is known only when all rows are written. */
type Ending = Omit<Manifest, 'rows' | 'sha256'>

export interface Closer {
  /** Asked behind the last row. */
  ending(): Promise<Ending>
  /** Signs with the node's key: ECDSA over SHA-256, DER. */
  sign(octets: Uint8Array): Uint8Array
}

/** The file of these rows, piece by piece: header, rows, signed manifest. It reads on when a piece is taken. */
export async function* writeFile(
  rows: AsyncIterable<readonly ExportRow[]>,
  closer: Closer,
): AsyncGenerator<Buffer> {
  const sum = createHash('sha256')
  let count = 0
  let text = HEADER
  for await (const some of rows) {
    for (const row of some) {
      text += rowLine(row)
      count += 1
      if (text.length < PIECE) continue
      const piece = Buffer.from(text, 'utf8')
      sum.update(piece)
      yield piece
      text = ''
    }
  }
  const last = Buffer.from(text, 'utf8')
  sum.update(last)
  const manifest: Manifest = { ...(await closer.ending()), rows: count, sha256: sum.digest('hex') }
  const signature = Buffer.from(closer.sign(signedText(manifest))).toString('base64')
  yield Buffer.concat([last, Buffer.from(manifestLine({ ...manifest, signature }), 'utf8')])
}

/** What the last line of a file says of all lines before it. Times are RFC 3339, UTC. */
export interface Manifest {
  /** The node that made the file. */
  readonly node_id: string
  readonly node_name: string
  readonly made_at: string
  /** The span that was asked for: from then on, before then. */
  readonly from: string
  readonly to: string
  readonly kinds: readonly string[]
  /** Rows between header and manifest. */
  readonly rows: number
  /** SHA-256 (hex) of all octets before the manifest's own line, header included. */
  readonly sha256: string
  /** The newest entry of the audit trail (docs/explanation/audit.md). The seal is an HMAC: only the node itself can check it. */
  readonly audit_head: { readonly seq: number; readonly hash: string; readonly seal: string }
  /** The node's certificate and that of the CA which signed it: DER, base64. */
  readonly certificate: string
  readonly ca: string
}

/** A manifest with the node's signature over `signedText`: ECDSA P-256, SHA-256, DER, base64. */
export interface SignedManifest extends Manifest {
  readonly signature: string
}

/** The format and its version, the first member of the manifest. */
const FORMAT = 'svc-compliance-export/1'
/** So that a signature over something else of the same key is none over a manifest. */
const PURPOSE = 'svc compliance export\n'

/** The octets that the node's key signs: a line that says what they are, then the JSON of the manifest. */
export function signedText(manifest: Manifest): Buffer {
  return Buffer.from(PURPOSE + JSON.stringify(ordered(manifest)), 'utf8')
}

/** The last line of a file. */
export function manifestLine(manifest: SignedManifest): string {
  const { signature, made_at: at, node_id: subject } = manifest
  return rowLine({
    kind: 'manifest',
    at,
    subject,
    detail: JSON.stringify({ ...ordered(manifest), signature }),
  })
}

/** The members in the order of the format: the octets of a manifest are made from its values alone. */
function ordered(manifest: Manifest): object {
  const { node_id, node_name, made_at, from, to, kinds, rows, sha256, audit_head, certificate, ca } = manifest
  const { seq, hash, seal } = audit_head
  return {
    format: FORMAT,
    node_id,
    node_name,
    made_at,
    from,
    to,
    kinds: [...kinds],
    rows,
    sha256,
    audit_head: { seq, hash, seal },
    certificate,
    ca,
  }
}

/** The manifest in the text of its cell; undefined for any other text. Its values are checked for their types alone. */
export function manifestFrom(text: string): SignedManifest | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isRecord(parsed) || parsed.format !== FORMAT) return undefined
  const { kinds, rows, audit_head: head } = parsed
  const isWhole =
    TEXTS.every((name) => typeof parsed[name] === 'string') &&
    Array.isArray(kinds) &&
    kinds.every((kind) => typeof kind === 'string') &&
    Number.isSafeInteger(rows) &&
    isRecord(head) &&
    Number.isSafeInteger(head.seq) &&
    typeof head.hash === 'string' &&
    typeof head.seal === 'string'
  // Every member was looked at.
  return isWhole ? (parsed as unknown as SignedManifest) : undefined
}

const TEXTS = [
  'node_id',
  'node_name',
  'made_at',
  'from',
  'to',
  'sha256',
  'certificate',
  'ca',
  'signature',
] as const
