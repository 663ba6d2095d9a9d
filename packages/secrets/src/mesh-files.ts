import { X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type MeshMembership, secretsInvalid } from '@steeple/contracts'
import {
  makeKeysDirectory,
  readKeyFile,
  removeKeyFile,
  removeLeftovers,
  replaceKeyFile,
} from './key-files.ts'
import { KEY_FILES } from './node-files.ts'

/** One file, so that a kill leaves the whole membership or none. */
const FILE = 'mesh.json'
/** The CA of the mesh once more, for the commands of this box and for people: nothing here reads it. */
const CA_FILE = 'ca.pem'

const TEXTS = [
  'mesh_name',
  'root_url',
  'root_node_id',
  'ca_pem',
  'certificate_pem',
  'overlay_address',
  'joined_at',
] as const
type Stored = Readonly<Record<(typeof TEXTS)[number], string>>

/** The membership that is kept in the keys directory; undefined when there is none. Throws `secrets_invalid`. */
export function readMembership(keys: string): MeshMembership | undefined {
  const directory = join(keys, KEY_FILES.mesh)
  if (!existsSync(directory)) return undefined
  removeLeftovers(directory)
  const bytes = readKeyFile(directory, FILE)
  return bytes === undefined ? undefined : parse(join(directory, FILE), bytes.toString())
}

/** Keeps a membership, durable when it returns. */
export function writeMembership(keys: string, membership: MeshMembership): void {
  const directory = join(keys, KEY_FILES.mesh)
  makeKeysDirectory(directory)
  const stored: Stored = {
    mesh_name: membership.meshName,
    root_url: membership.rootUrl,
    root_node_id: membership.rootNodeId,
    ca_pem: membership.caPem,
    certificate_pem: membership.certificatePem,
    overlay_address: membership.overlayAddress,
    joined_at: new Date(membership.joinedAtMs).toISOString(),
  }
  replaceKeyFile(directory, CA_FILE, Buffer.from(membership.caPem))
  replaceKeyFile(directory, FILE, Buffer.from(`${JSON.stringify(stored, undefined, 2)}\n`))
}

/** The node is in no other one's mesh any more. Absent is fine. */
export function removeMembership(keys: string): void {
  const directory = join(keys, KEY_FILES.mesh)
  if (!existsSync(directory)) return
  removeKeyFile(directory, FILE)
  removeKeyFile(directory, CA_FILE)
}

function parse(path: string, text: string): MeshMembership {
  try {
    const raw = JSON.parse(text) as Partial<Record<keyof Stored, unknown>>
    const isWhole = (value: typeof raw): value is Stored =>
      TEXTS.every((name) => typeof value[name] === 'string')
    if (isWhole(raw)) {
      const joinedAtMs = Date.parse(raw.joined_at)
      new X509Certificate(raw.ca_pem)
      new X509Certificate(raw.certificate_pem)
      if (!Number.isNaN(joinedAtMs)) {
        return {
          meshName: raw.mesh_name,
          rootUrl: raw.root_url,
          rootNodeId: raw.root_node_id,
          caPem: raw.ca_pem,
          certificatePem: raw.certificate_pem,
          overlayAddress: raw.overlay_address,
          joinedAtMs,
        }
      }
    }
  } catch {
    // Said below.
  }
  throw secretsInvalid(`${path} is damaged; remove it, and join the mesh again`)
}
