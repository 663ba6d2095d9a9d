import {
  createHash,
  createPrivateKey,
  createSecretKey,
  hash,
  type KeyObject,
  X509Certificate,
} from 'node:crypto'
import { join } from 'node:path'
import { isRecord, jsonIn, type NodeIdentity, nodeIdIn, secretsInvalid } from '@steeple/contracts'
import {
  checkKeysDirectory,
  damaged,
  keysDirectory,
  readKeyFile,
  replaceKeyFile,
  requireKeyFile,
} from './key-files.ts'
import { checkHomeKeys, KEY_FILES, type NodeFile, SYMMETRIC_KEY_BYTES } from './node-files.ts'
import { type Keyring, openKeyring } from './vault.ts'

/** The keys and certificates of this node, checked. Private keys of certificates are read when they are asked for. */
export interface Secrets {
  readonly directory: string
  readonly identity: NodeIdentity
  /** The keys of the vault: `createVault(keyring)`. */
  readonly keyring: Keyring
  /** HMAC-SHA-256 key of session tokens. */
  readonly jwtKey: KeyObject
  /** Public id of `jwtKey` for the `kid` of tokens, 8 hex characters. */
  readonly jwtKeyId: string
  /** HMAC-SHA-256 key of the seals of the audit trail. */
  readonly auditKey: KeyObject
  /** The certificate of the node's own CA, PEM. */
  readonly caPem: string
  /** The node's own certificate as it stands now. */
  certificate(): X509Certificate
  /** What a TLS listener or client needs. */
  tls(): { readonly key: string; readonly cert: string; readonly ca: string }
  /** Private key of the node's own CA, PKCS#8 PEM. Forget it soon. */
  caKeyPem(): string
  /** Puts a renewed certificate in place, durable, and uses it from now on. */
  adoptCertificate(pem: string): void
  /** Calls the listener after each `adoptCertificate`. */
  onCertificate(listener: () => void): void
}

/**
 * Opens what `initNode` made.
 *
 * Throws `secrets_invalid` with the remedy when something is missing, open to others, a symbolic link, another
 * user's, damaged, or when keys and certificates do not belong together.
 */
export function openSecrets(dataDir: string): Secrets {
  const directory = keysDirectory(dataDir)
  checkKeysDirectory(directory)
  const nodeBytes = readKeyFile(directory, KEY_FILES.node)
  if (nodeBytes === undefined) throw secretsInvalid(`there is no node in ${directory}; run svc node init`)
  const node = parseNodeFile(directory, nodeBytes)
  checkHomeKeys(directory)
  const caPem = requireKeyFile(directory, KEY_FILES.caCertificate).toString()
  const ca = parseCertificate(directory, KEY_FILES.caCertificate, caPem)
  let certificatePem = requireKeyFile(directory, KEY_FILES.nodeCertificate).toString()
  let certificate = parseCertificate(directory, KEY_FILES.nodeCertificate, certificatePem)
  let expiresAtMs = Date.parse(certificate.validTo)
  checkPair(directory, KEY_FILES.caKey, ca)
  checkPair(directory, KEY_FILES.nodeKey, certificate)
  checkNodeCertificate(directory, certificate, ca, node)
  const jwtBytes = symmetricKey(directory, KEY_FILES.jwtKey)
  const auditBytes = symmetricKey(directory, KEY_FILES.auditKey)
  const auditKey = createSecretKey(auditBytes)
  auditBytes.fill(0)
  const jwtKey = createSecretKey(jwtBytes)
  const jwtKeyId = createHash('sha256')
    .update('steeple jwt key id')
    .update(jwtBytes)
    .digest('hex')
    .slice(0, 8)
  jwtBytes.fill(0)
  const listeners: (() => void)[] = []
  const caSha256 = hash('sha256', ca.raw)
  return {
    directory,
    keyring: openKeyring(directory),
    jwtKey,
    jwtKeyId,
    auditKey,
    caPem,
    identity: {
      nodeId: node.node_id,
      name: node.name,
      createdAtMs: Date.parse(node.created_at),
      caSha256,
      get certificateExpiresAtMs() {
        return expiresAtMs
      },
    },
    certificate: () => certificate,
    tls: () => ({
      key: requireKeyFile(directory, KEY_FILES.nodeKey).toString(),
      cert: certificatePem,
      ca: caPem,
    }),
    caKeyPem: () => requireKeyFile(directory, KEY_FILES.caKey).toString(),
    adoptCertificate: (pem) => {
      const next = parseCertificate(directory, KEY_FILES.nodeCertificate, pem)
      checkPair(directory, KEY_FILES.nodeKey, next)
      checkNodeCertificate(directory, next, ca, node)
      replaceKeyFile(directory, KEY_FILES.nodeCertificate, Buffer.from(pem))
      certificatePem = pem
      certificate = next
      expiresAtMs = Date.parse(next.validTo)
      for (const listener of listeners) listener()
    },
    onCertificate: (listener) => {
      listeners.push(listener)
    },
  }
}

function symmetricKey(directory: string, file: string): Buffer {
  const bytes = requireKeyFile(directory, file)
  if (bytes.length !== SYMMETRIC_KEY_BYTES) throw damaged(directory, file)
  return bytes
}

function parseNodeFile(directory: string, bytes: Buffer): NodeFile {
  const value = jsonIn(bytes.toString())
  const { node_id, name, created_at } = isRecord(value) ? value : {}
  const isWhole =
    typeof node_id === 'string' &&
    typeof name === 'string' &&
    typeof created_at === 'string' &&
    /^[0-9a-f-]{36}$/.test(node_id) &&
    !Number.isNaN(Date.parse(created_at))
  if (!isWhole) throw damaged(directory, KEY_FILES.node)
  return { node_id, name, created_at }
}

function parseCertificate(directory: string, name: string, pem: string): X509Certificate {
  try {
    return new X509Certificate(pem)
  } catch (cause) {
    throw damaged(directory, name, cause)
  }
}

function checkPair(directory: string, keyName: string, certificate: X509Certificate): void {
  const pem = requireKeyFile(directory, keyName)
  let isPair: boolean
  try {
    isPair = certificate.checkPrivateKey(createPrivateKey(pem))
  } catch (cause) {
    throw damaged(directory, keyName, cause)
  } finally {
    pem.fill(0)
  }
  if (!isPair) {
    throw secretsInvalid(
      `${join(directory, keyName)} does not belong to its certificate; restore both from a backup`,
    )
  }
}

function checkNodeCertificate(
  directory: string,
  certificate: X509Certificate,
  ca: X509Certificate,
  node: NodeFile,
): void {
  const path = join(directory, KEY_FILES.nodeCertificate)
  if (!certificate.verify(ca.publicKey)) throw secretsInvalid(`${path} is not signed by the CA beside it`)
  if (nodeIdIn(certificate.subjectAltName) !== node.node_id)
    throw secretsInvalid(`${path} names another node than ${KEY_FILES.node}`)
}
