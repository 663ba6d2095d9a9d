import { createPrivateKey, createPublicKey, sign, X509Certificate } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Clock,
  isRecord,
  jsonIn,
  type Membership,
  type NodeCa,
  type NodeCredentials,
  nodeIdIn,
  removeDrafts,
  secretsInvalid,
  serialOf,
  validationFailed,
} from '@steeple/contracts'
import { makeKeysDirectory, readKeyFile, removeKeyFile, replaceKeyFile, requireKeyFile } from './key-files.ts'
import { BACKDATE_MS, KEY_FILES } from './node-files.ts'
import type { Secrets } from './open-secrets.ts'

/** This node's own CA. Its key is read from the disk for each signature and not kept. */
export function openNodeCa(secrets: Secrets, clock: Clock): NodeCa {
  return {
    caPem: secrets.caPem,
    caSha256: secrets.identity.caSha256,
    readRequest: async (pem, own) => {
      const { readRequest } = await import('./x509.ts')
      return await readRequest(pem, own)
    },
    issue: async (wish) => {
      const { issueCertificate } = await import('./x509.ts')
      const publicKey = createPublicKey({ key: Buffer.from(wish.publicKey), format: 'der', type: 'spki' })
      if (publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1')
        throw validationFailed('a certificate is for an ECDSA key on P-256 alone')
      const pem = await issueCertificate({
        caKeyPem: secrets.caKeyPem(),
        caPem: secrets.caPem,
        publicKey,
        commonName: wish.commonName,
        uri: wish.uri,
        dnsNames: wish.dnsNames ?? [],
        addresses: wish.addresses ?? [],
        notBeforeMs: clock.nowMs() - BACKDATE_MS,
        notAfterMs: wish.notAfterMs,
      })
      const certificate = new X509Certificate(pem)
      return { pem, serial: serialOf(certificate), notAfterMs: Date.parse(certificate.validTo) }
    },
    signRevocations: async (list, validity) => {
      const { createCrl } = await import('./x509.ts')
      return await createCrl({ caKeyPem: secrets.caKeyPem(), caPem: secrets.caPem, list, ...validity })
    },
  }
}

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

/** A certificate request by that key, P-256: PKCS#10, PEM. What the certificate will say is for who signs it to decide. */
export async function certificateRequest(keyPem: string, commonName: string): Promise<string> {
  const { createRequest } = await import('./x509.ts')
  return await createRequest(keyPem, commonName)
}

/** The membership that is kept in the keys directory; undefined when there is none. Throws `secrets_invalid`. */
function readMembership(keys: string): Membership | undefined {
  const directory = join(keys, KEY_FILES.mesh)
  if (!existsSync(directory)) return undefined
  removeDrafts(directory)
  const bytes = readKeyFile(directory, FILE)
  return bytes === undefined ? undefined : parse(join(directory, FILE), bytes.toString())
}

/** Keeps a membership, durable when it returns. */
function writeMembership(keys: string, membership: Membership): void {
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
function removeMembership(keys: string): void {
  const directory = join(keys, KEY_FILES.mesh)
  if (!existsSync(directory)) return
  removeKeyFile(directory, FILE)
  removeKeyFile(directory, CA_FILE)
}

/** Whether its certificates are sound is looked at when it is taken up. */
function parse(path: string, text: string): Membership {
  const raw = jsonIn(text)
  const isWhole = (value: unknown): value is Stored =>
    isRecord(value) && TEXTS.every((name) => typeof value[name] === 'string')
  if (!isWhole(raw) || Number.isNaN(Date.parse(raw.joined_at)))
    throw secretsInvalid(`${path} is damaged; remove it, and join the mesh again`)
  return {
    meshName: raw.mesh_name,
    rootUrl: raw.root_url,
    rootNodeId: raw.root_node_id,
    caPem: raw.ca_pem,
    certificatePem: raw.certificate_pem,
    overlayAddress: raw.overlay_address,
    joinedAtMs: Date.parse(raw.joined_at),
  }
}

/**
 * As whom this node speaks to other boxes.
 *
 * A membership whose certificate does not belong to the node's key is damage: throws `secrets_invalid` with the remedy.
 */
export function openNodeCredentials(secrets: Secrets): NodeCredentials {
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
    request: () => certificateRequest(nodeKey(), secrets.identity.nodeId),
    sign: (octets) => sign('sha256', octets, createPrivateKey(nodeKey())),
    readRevocations: async (pem) => {
      const { readCrl } = await import('./x509.ts')
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
function checkMembership(secrets: Secrets, membership: Membership): void {
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
  if (nodeIdIn(certificate.subjectAltName) !== secrets.identity.nodeId) throw wrong('names another node')
  if (!certificate.checkPrivateKey(createPrivateKey(secrets.tls().key)))
    throw wrong('does not belong to the key of this node')
}
