import { createHash } from 'node:crypto'
import type { ExportRow } from './columns.ts'
import { HEADER, rowLine } from './csv.ts'
import { type Manifest, manifestLine, signedText } from './manifest.ts'

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
