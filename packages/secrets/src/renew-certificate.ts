import { createPublicKey, generateKeyPairSync, randomBytes, randomUUID, X509Certificate } from 'node:crypto'
import { statSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import {
  type Clock,
  localHostName,
  nodeIdIn,
  nodeUri,
  removeDrafts,
  secretsInvalid,
} from '@steeple/contracts'
import { createKeyFile, keysDirectory, makeKeysDirectory, readKeyFile, requireKeyFile } from './key-files.ts'
import {
  BACKDATE_MS,
  KEY_FILES,
  makeHomeKeys,
  NODE_CERTIFICATE_LIFE_MS,
  ROOT_LIFE_MS,
  SYMMETRIC_KEY_BYTES,
} from './node-files.ts'
import { openSecrets, type Secrets } from './open-secrets.ts'

/** What `initNode` needs. */
export interface InitOptions {
  readonly dataDir: string
  /** What people call the node; the machine's name when absent. */
  readonly name?: string
  readonly clock: Clock
  /** The file in which the node has its store, there or not: new keys beside an old store open nothing of it. */
  readonly storeFile?: string | undefined
}

/** What `initNode` found or made. */
export interface InitResult {
  /** False when everything was there before; then nothing was changed. */
  readonly isNew: boolean
  readonly secrets: Secrets
  /** One sentence for the terminal. Holds no secret. */
  readonly message: string
}

/** A clock before this has not been set, and certificates of its time are worth nothing. */
const EARLIEST_MS = Date.UTC(2025, 0, 1)
const NAME = /^[\p{L}\p{N}](?:[\p{L}\p{N} ._-]{0,62}[\p{L}\p{N}])?$/u
/** RFC 1123 §2.1. */
const DNS_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

/**
 * Makes the node: its CA, its own certificate, vault key, JWT key and identity in `<data_dir>/keys`.
 *
 * Run again it changes nothing but to add home network keys to a node of before there were any. Killed at any point, the next run
 * completes it. Throws `secrets_invalid` when the directory or a file is open to others, when files of a completed node are missing,
 * when there is a store whose keys are not there, or when the clock is not set.
 */
export async function initNode(options: InitOptions): Promise<InitResult> {
  const { dataDir, clock } = options
  const directory = keysDirectory(dataDir)
  const name = options.name ?? defaultName()
  if (!NAME.test(name)) {
    throw secretsInvalid(
      'the name of a node is 1 to 64 letters, digits, spaces, dots, dashes and underscores',
    )
  }
  refuseForeignStore(directory, options.storeFile)
  makeKeysDirectory(directory)
  if (readKeyFile(directory, KEY_FILES.node) !== undefined) {
    removeDrafts(directory)
    const secrets = openSecrets(dataDir)
    makeHomeKeys(directory)
    const { identity } = secrets
    const message = `node ${identity.nodeId} (${identity.name}) exists already in ${directory}; nothing was changed`
    return { isNew: false, secrets, message }
  }
  if (clock.nowMs() < EARLIEST_MS) {
    const now = new Date(clock.nowMs()).toISOString()
    throw secretsInvalid(`the clock says ${now}; set it first, certificates depend on it`)
  }
  const nodeId = await makeFiles(directory, name, clock.nowMs())
  removeDrafts(directory)
  const message = `node ${nodeId} (${name}) made; its keys are in ${directory}`
  return { isNew: true, secrets: openSecrets(dataDir), message }
}

/** The keys that seal what is in a store and its audit trail come before any store, and so a store without one of them has lost it. */
function refuseForeignStore(directory: string, storeFile: string | undefined): void {
  if (storeFile === undefined) return
  const lost = [KEY_FILES.vaultKey, KEY_FILES.auditKey].find(
    (name) => readKeyFile(directory, name) === undefined,
  )
  if (lost === undefined) return
  const size = statSync(storeFile, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return
  throw secretsInvalid(
    `there is a store ${storeFile} and no key of it, ${join(directory, lost)}; put back the keys directory of this store, ` +
      'or move the store away',
  )
}

/** Every file that is absent, in an order in which each only needs those before it. Returns the node's id. */
async function makeFiles(directory: string, name: string, nowMs: number): Promise<string> {
  const once = (file: string, make: () => Uint8Array): Buffer => {
    if (readKeyFile(directory, file) === undefined) createKeyFile(directory, file, make())
    return requireKeyFile(directory, file)
  }
  once(KEY_FILES.vaultKey, () => randomBytes(SYMMETRIC_KEY_BYTES))
  once(KEY_FILES.jwtKey, () => randomBytes(SYMMETRIC_KEY_BYTES))
  once(KEY_FILES.auditKey, () => randomBytes(SYMMETRIC_KEY_BYTES))
  makeHomeKeys(directory)
  const caKeyPem = once(KEY_FILES.caKey, newPrivateKey).toString()
  const nodeKeyPem = once(KEY_FILES.nodeKey, newPrivateKey).toString()
  const notBeforeMs = nowMs - BACKDATE_MS
  const x509 = await import('./x509.ts')
  if (readKeyFile(directory, KEY_FILES.caCertificate) === undefined) {
    const commonName = `Mesh CA ${randomBytes(4).toString('hex')}`
    const notAfterMs = nowMs + ROOT_LIFE_MS
    const pem = await x509.createRoot({ keyPem: caKeyPem, commonName, notBeforeMs, notAfterMs })
    createKeyFile(directory, KEY_FILES.caCertificate, Buffer.from(pem))
  }
  const caPem = requireKeyFile(directory, KEY_FILES.caCertificate).toString()
  if (readKeyFile(directory, KEY_FILES.nodeCertificate) === undefined) {
    const publicKey = createPublicKey(nodeKeyPem)
    const pem = await x509.issueCertificate({
      caKeyPem,
      caPem,
      publicKey,
      ...nodeNames({ nodeId: randomUUID(), name }, nowMs),
    })
    createKeyFile(directory, KEY_FILES.nodeCertificate, Buffer.from(pem))
  }
  // Two runs at once agree because the first certificate wins and the id is read from it.
  const { subjectAltName } = new X509Certificate(requireKeyFile(directory, KEY_FILES.nodeCertificate))
  const nodeId = nodeIdIn(subjectAltName)
  if (nodeId === undefined) {
    throw secretsInvalid(
      `${join(directory, KEY_FILES.nodeCertificate)} names no node; remove it and run svc node init`,
    )
  }
  const node = { node_id: nodeId, name, created_at: new Date(nowMs).toISOString() }
  createKeyFile(directory, KEY_FILES.node, Buffer.from(`${JSON.stringify(node, undefined, 2)}\n`))
  return nodeId
}

/**
 * What the node's own certificate says: its URI, and the names under which it serves TLS: on this machine, by the machine's
 * name, and by mDNS under that name and the node's.
 */
function nodeNames({ nodeId, name }: { readonly nodeId: string; readonly name: string }, nowMs: number) {
  const host = hostname()
  const [label = ''] = host.split('.')
  const names = [
    'localhost',
    ...(DNS_NAME.test(host) ? [host] : []),
    localHostName(label),
    localHostName(name),
  ]
  return {
    commonName: nodeId,
    uri: nodeUri(nodeId),
    dnsNames: [...new Set(names.filter((one) => one !== undefined))],
    addresses: ['127.0.0.1', '::1'],
    notBeforeMs: nowMs - BACKDATE_MS,
    notAfterMs: nowMs + NODE_CERTIFICATE_LIFE_MS,
  }
}

function newPrivateKey(): Uint8Array {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return Buffer.from(privateKey.export({ format: 'pem', type: 'pkcs8' }))
}

function defaultName(): string {
  const host = hostname().slice(0, 64)
  return NAME.test(host) ? host : 'node'
}

/** Whether half of the life of the node's certificate is over, or the clock stands before it. */
export function isRenewalDue(secrets: Secrets, nowMs: number): boolean {
  const { validFrom, validTo } = secrets.certificate()
  const fromMs = Date.parse(validFrom)
  const halfMs = (Date.parse(validTo) - fromMs) / 2
  return nowMs < fromMs || nowMs >= fromMs + halfMs
}

/**
 * Renews the node's own certificate under the same key when it is due, and says whether it did.
 *
 * Killed at any point it leaves the old or the new certificate, whole. Throws `secrets_invalid`.
 */
export async function renewNodeCertificate(secrets: Secrets, clock: Clock): Promise<boolean> {
  const nowMs = clock.nowMs()
  if (!isRenewalDue(secrets, nowMs)) return false
  const { issueCertificate } = await import('./x509.ts')
  const pem = await issueCertificate({
    caKeyPem: secrets.caKeyPem(),
    caPem: secrets.caPem,
    publicKey: createPublicKey(secrets.certificate().publicKey.export({ format: 'pem', type: 'spki' })),
    ...nodeNames(secrets.identity, nowMs),
  })
  secrets.adoptCertificate(pem)
  return true
}
