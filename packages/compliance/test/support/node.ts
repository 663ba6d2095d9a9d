import { createPrivateKey, sign, X509Certificate } from 'node:crypto'
import { timestampFromMs } from '@steeple/contracts'
import { initNode, openSecrets } from '@steeple/secrets'
import { fakeClock, tempDir } from '@steeple/testkit'
import type { ExportRow } from '../../src/file/csv.ts'
import { writeFile } from '../../src/file/manifest.ts'

export interface Node {
  readonly ca: X509Certificate
  readonly certificate: X509Certificate
  /** The whole file of these rows, as if it were made so much later than the node. */
  file(rows: readonly ExportRow[], laterMs?: number): Promise<Buffer>
}

/** A new node with keys of its own. */
export async function newNode(): Promise<Node> {
  await using dir = await tempDir()
  const clock = fakeClock()
  await initNode({ dataDir: dir.path, clock, name: 'hill 1' })
  const secrets = openSecrets(dir.path)
  const ca = new X509Certificate(secrets.caPem)
  const certificate = secrets.certificate()
  const key = createPrivateKey(secrets.tls().key)
  return {
    ca,
    certificate,
    file: async (rows, laterMs = 0) => {
      const at = timestampFromMs(clock.nowMs() + laterMs)
      const closer = {
        ending: async () => ({
          node_id: secrets.identity.nodeId,
          node_name: secrets.identity.name,
          made_at: at,
          from: timestampFromMs(0),
          to: at,
          kinds: ['sim'],
          audit_head: { seq: 7, hash: 'a'.repeat(64), seal: 'b'.repeat(64) },
          certificate: certificate.raw.toString('base64'),
          ca: ca.raw.toString('base64'),
        }),
        sign: (octets: Uint8Array) => sign('sha256', octets, key),
      }
      const pieces: Buffer[] = []
      for await (const piece of writeFile(inPages(rows), closer)) pieces.push(piece)
      return Buffer.concat(pieces)
    },
  }
}

async function* inPages(rows: readonly ExportRow[]): AsyncGenerator<readonly ExportRow[]> {
  for (let at = 0; at < rows.length; at += 3) yield rows.slice(at, at + 3)
}

/** Octets as a stream gives them. */
export async function* inPieces(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** Rows with everything that a reader could stumble over. */
export const ROWS: readonly ExportRow[] = [
  { kind: 'sim', id: 1, at: '2026-11-22T10:00:00.000Z', subject: '0123456789ab', from: null, to: 'issued' },
  { kind: 'sim', id: 2, subject: '0123456789ab', reason: "=cmd|' /C calc'!A0", detail: 'a,b' },
  { kind: 'tx', id: 'x', license_holder: 'Ångström "AB"\r\nStreet 1', license_reference: '@SUM(1+1)*2' },
  { kind: 'tx', id: 'y', eirp_dbm: -10, license_holder: "'s-Gravenhage", license_reference: '+49' },
  { kind: 'session', id: 3, up_bytes: 2 ** 53 - 1, down_bytes: 0, ue_address: '2001:db8::/64', cell: '\t1' },
]
