import type { X509Certificate } from 'node:crypto'

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

/** The URI by which a certificate names its node. */
export function nodeUri(nodeId: string): string {
  return `svc://node/${nodeId}`
}

/** The node that a certificate names; undefined when it names none. */
export function nodeIdOf(certificate: X509Certificate): string | undefined {
  return /(?:^|, )URI:svc:\/\/node\/([0-9a-f-]{36})(?:,|$)/.exec(certificate.subjectAltName ?? '')?.[1]
}
