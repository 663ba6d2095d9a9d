import { createPrivateKey, sign, X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { type MeshIdentity, type MeshMembership, secretsInvalid } from '@steeple/contracts'
import { requireKeyFile } from './key-files.ts'
import { readMembership, removeMembership, writeMembership } from './mesh-files.ts'
import { KEY_FILES, nodeIdOf } from './node-files.ts'
import type { Secrets } from './open-secrets.ts'

/**
 * As whom this node speaks to other boxes.
 *
 * A membership whose certificate does not belong to the node's key is damage: throws `secrets_invalid` with the remedy.
 */
export function openMeshIdentity(secrets: Secrets): MeshIdentity {
  const listeners = new Set<() => void>()
  let membership = readMembership(secrets.directory)
  if (membership !== undefined) checkMembership(secrets, membership)
  const tell = (): void => {
    for (const listener of listeners) listener()
  }
  secrets.onCertificate(tell)
  const nodeKey = (): string => requireKeyFile(secrets.directory, KEY_FILES.nodeKey).toString()
  return {
    membership: () => membership,
    tls: () => {
      const own = secrets.tls()
      if (membership === undefined) return { key: own.key, cert: own.cert, trusted: [own.ca] }
      return { key: own.key, cert: membership.certificatePem, trusted: [own.ca, membership.caPem] }
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    request: async () => {
      const { createRequest } = await import('./x509-lists.ts')
      return await createRequest(nodeKey(), secrets.identity.nodeId)
    },
    sign: (octets) => sign('sha256', octets, createPrivateKey(nodeKey())),
    readRevocations: async (pem) => {
      const { readCrl } = await import('./x509-lists.ts')
      return await readCrl(pem, membership?.caPem ?? secrets.caPem)
    },
    adopt: async (next) => {
      checkMembership(secrets, next)
      writeMembership(secrets.directory, next)
      membership = next
      tell()
    },
    forget: async () => {
      removeMembership(secrets.directory)
      membership = undefined
      tell()
    },
  }
}

/** Throws `secrets_invalid` when its certificate is not this node's, or not of its CA. */
function checkMembership(secrets: Secrets, membership: MeshMembership): void {
  const path = join(secrets.directory, KEY_FILES.mesh)
  const wrong = (what: string, cause?: unknown): Error =>
    secretsInvalid(`the certificate in ${path} ${what}; remove that directory, and join the mesh again`, {
      cause,
    })
  let ca: X509Certificate
  let certificate: X509Certificate
  try {
    ca = new X509Certificate(membership.caPem)
    certificate = new X509Certificate(membership.certificatePem)
  } catch (cause) {
    throw wrong('is damaged', cause)
  }
  if (!ca.ca || !certificate.checkIssued(ca) || !certificate.verify(ca.publicKey))
    throw wrong('is not signed by the CA beside it')
  if (nodeIdOf(certificate) !== secrets.identity.nodeId) throw wrong('names another node')
  if (!certificate.checkPrivateKey(createPrivateKey(secrets.tls().key)))
    throw wrong('does not belong to the key of this node')
}
