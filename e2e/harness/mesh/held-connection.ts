import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { eventually } from '@steeple/testkit'
import type { Box } from './box.ts'

const PORT = 8_443
const SAID_LIMIT_MS = 60_000

/** A connection of a member to the API of another box that stays open with nothing to say. */
export interface HeldConnection {
  readonly to: string
  /** When the other side ended it, as `performance.now()` has it; undefined while it is open. */
  endedMs(): number | undefined
}

/** SHA-256 of the certificate that a box has in its mesh, as a suggestion shows it. */
export function fingerprintOf(box: Box): string {
  const { certificate_pem: pem } = membershipOf(box)
  return new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase()
}

/** Opens one with the certificate of `member`, has a request answered over it, and holds it. */
export async function holdConnection(member: Box, other: Box): Promise<HeldConnection> {
  const { certificate_pem: cert, ca_pem: ca } = membershipOf(member)
  const socket = connect({
    host: other.place.address,
    port: PORT,
    servername: 'box.mesh.internal',
    ca,
    cert,
    key: readFileSync(join(member.dataDir, 'keys/node.key')),
    // Known by its node, not by a host name.
    checkServerIdentity: () => undefined,
  })
  let [said, endedMs]: [string, number | undefined] = ['', undefined]
  socket.on('error', () => undefined)
  socket.on('data', (piece: Buffer) => {
    said += piece.toString('latin1')
  })
  socket.on('close', () => {
    endedMs = performance.now()
  })
  socket.write(`GET /v1/mesh/members HTTP/1.1\r\nhost: ${other.name}\r\n\r\n`)
  await eventually(async () => said.includes(member.nodeId) || endedMs !== undefined, SAID_LIMIT_MS)
  if (!said.startsWith('HTTP/1.1 200'))
    throw new Error(`${other.name} does not take ${member.name}: ${said.slice(0, 200)}`)
  return { to: other.name, endedMs: () => endedMs }
}

function membershipOf(box: Box): { readonly certificate_pem: string; readonly ca_pem: string } {
  return JSON.parse(readFileSync(join(box.dataDir, 'keys/mesh/mesh.json'), 'utf8')) as {
    readonly certificate_pem: string
    readonly ca_pem: string
  }
}
