import { generateKeyPairSync } from 'node:crypto'
import { createKeyFile, readKeyFile } from './key-files.ts'

/**
 * Home network keys, by which phones conceal who they are. TS 33.501 annex C.3.4: profile A is X25519, profile B is P-256.
 * In the two forms that Open5GS reads.
 */
const HOME_KEYS = { 'hnet-1.key': profileA, 'hnet-2.key': profileB } as const

/** Throws `secrets_invalid` when one that is there is open to others. */
export function checkHomeKeys(directory: string): void {
  for (const file of Object.keys(HOME_KEYS)) readKeyFile(directory, file)
}

/** Makes those that are absent: a key that is on cards must stay. */
export function makeHomeKeys(directory: string): void {
  for (const [file, make] of Object.entries(HOME_KEYS))
    if (readKeyFile(directory, file) === undefined) createKeyFile(directory, file, Buffer.from(make()))
}

function profileA(): string {
  return String(generateKeyPairSync('x25519').privateKey.export({ format: 'pem', type: 'pkcs8' }))
}

function profileB(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return String(privateKey.export({ format: 'pem', type: 'sec1' }))
}

/** Names of the files in the keys directory. */
export const KEY_FILES = {
  caKey: 'mesh-ca.key',
  caCertificate: 'mesh-ca.pem',
  nodeKey: 'node.key',
  nodeCertificate: 'node.pem',
  vaultKey: 'vault.key',
  jwtKey: 'jwt.key',
  /** Seals the audit trail; never changes over the life of a store. */
  auditKey: 'audit.key',
  /** Directory of what the node is in the mesh of another one; absent or empty: nothing. */
  mesh: 'mesh',
  /** Written last: its presence says that `node init` was completed. */
  node: 'node.json',
} as const

/** Contract section 4: the mesh root lives 10 years, a node certificate 30 days. */
export const ROOT_LIFE_MS: number = 3_653 * 86_400_000
export const NODE_CERTIFICATE_LIFE_MS: number = 30 * 86_400_000
/** Certificates are valid before they are made, for boxes whose clocks are a day behind. */
export const BACKDATE_MS: number = 25 * 3_600_000

/** 256-bit keys: AES-256 and HMAC-SHA-256. */
export const SYMMETRIC_KEY_BYTES = 32

/** What `node.json` holds. No secret. */
export interface NodeFile {
  readonly node_id: string
  readonly name: string
  /** RFC 3339. */
  readonly created_at: string
}
