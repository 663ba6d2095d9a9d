import { createPrivateKey, type KeyObject } from 'node:crypto'
import {
  type Certificate,
  isRevocationList,
  publicKeyOf,
  type RevocationList,
  readCertificate,
  readOne,
  readRevocationList,
  TlvError,
  X509Error,
} from '@steeple/sgp22'

/** A file as it was given: PEM (several objects may be in it) or DER. */
export interface CertFile {
  readonly name: string
  readonly octets: Uint8Array
}

/** What is wrong with a file, and what to do. No word of it is out of a key. */
export interface FileProblem {
  readonly file: string
  readonly problem: string
}

export interface FoundInFiles {
  readonly certificates: readonly { readonly file: string; readonly certificate: Certificate }[]
  readonly keys: readonly { readonly file: string; readonly key: KeyObject }[]
  readonly lists: readonly { readonly file: string; readonly list: RevocationList }[]
  readonly problems: readonly FileProblem[]
}

type Found =
  | { readonly certificate: Certificate }
  | { readonly key: KeyObject }
  | { readonly list: RevocationList }
  | undefined

const BLOCK = /-----BEGIN ([A-Z0-9 ]{1,40})-----([^-]*)-----END \1-----/g
/** They come with keys and certificates, and say nothing that these do not. */
const NEEDLESS = ['EC PARAMETERS', 'PUBLIC KEY', 'CERTIFICATE REQUEST']
const CURVES = ['prime256v1', 'brainpoolP256r1']
/** No file of this kind is larger; a bundle of certificates may be. */
export const MAX_OCTETS = 65_536

/** Reads certificates, revocation lists and private keys (EC, SEC 1 or PKCS #8, not encrypted). Never throws because of what is in a file. */
export function readFiles(files: readonly CertFile[]): FoundInFiles {
  const certificates: { file: string; certificate: Certificate }[] = []
  const keys: { file: string; key: KeyObject }[] = []
  const lists: { file: string; list: RevocationList }[] = []
  const problems: FileProblem[] = []
  const take = (file: string, found: Found): void => {
    if (found === undefined) return
    if ('key' in found) keys.push({ file, key: found.key })
    else if ('list' in found) lists.push({ file, list: found.list })
    else certificates.push({ file, certificate: found.certificate })
  }
  for (const file of files) {
    try {
      for (const found of objectsIn(file.octets)) take(file.name, found)
    } catch (error) {
      if (!(error instanceof X509Error)) throw error
      problems.push({ file: file.name, problem: error.message })
    }
  }
  return { certificates, keys, lists, problems }
}

function objectsIn(octets: Uint8Array): readonly Found[] {
  if (octets.length > MAX_OCTETS)
    throw new X509Error(`has more than ${MAX_OCTETS} octets; no certificate and no key has so many`)
  const text = Buffer.from(octets).toString('latin1')
  if (!text.includes('-----BEGIN ')) return [fromDer(octets)]
  const blocks = [...text.matchAll(BLOCK)]
  if (blocks.length === 0) throw new X509Error('begins as PEM and has no end; copy the whole file')
  return blocks.map(([block, label = '', body = '']) => fromPem(block, label, body))
}

function fromPem(block: string, label: string, body: string): Found {
  if (NEEDLESS.includes(label)) return undefined
  if (label === 'CERTIFICATE') return usableCertificate(Buffer.from(body, 'base64'))
  if (label === 'X509 CRL') return { list: readRevocationList(Buffer.from(body, 'base64')) }
  if (label === 'ENCRYPTED PRIVATE KEY' || body.includes('Proc-Type:'))
    throw new X509Error('is an encrypted key; decrypt it first with openssl pkcs8 -in FILE -out KEY.pem')
  if (label === 'PRIVATE KEY' || label === 'EC PRIVATE KEY')
    return { key: usableKey(() => createPrivateKey({ key: block, format: 'pem' })) }
  throw new X509Error(`holds a ${label}, which is no certificate, revocation list or private key`)
}

/** A certificate begins with a sequence, a key with a version. */
function fromDer(octets: Uint8Array): Found {
  const long = octets[1] ?? 0
  const first = octets[long < 0x80 ? 2 : 2 + (long & 0x7f)]
  if (octets[0] !== 0x30 || (first !== 0x30 && first !== 0x02))
    throw new X509Error('is neither PEM nor DER; give a certificate or a private key in one of these forms')
  if (first === 0x30)
    return isRevocationList(octets) ? { list: readRevocationList(octets) } : usableCertificate(octets)
  if (isSignature(octets)) return undefined
  const key = Buffer.from(octets)
  try {
    return {
      key: usableKey(() => {
        try {
          return createPrivateKey({ key, format: 'der', type: 'pkcs8' })
        } catch {
          return createPrivateKey({ key, format: 'der', type: 'sec1' })
        }
      }),
    }
  } finally {
    key.fill(0)
  }
}

/** Two numbers and nothing else: what folders of test hierarchies have among their keys. RFC 3279 §2.2.3. */
function isSignature(octets: Uint8Array): boolean {
  try {
    const parts = readOne(octets).children()
    return parts.length === 2 && parts.every(({ tag, value }) => tag === 0x02 && value.length > 1)
  } catch (error) {
    if (error instanceof TlvError) return false
    throw error
  }
}

/** One whose key is a point of its curve: everything behind this takes that for granted. */
function usableCertificate(der: Uint8Array): Found {
  const certificate = readCertificate(der)
  publicKeyOf(certificate)
  return { certificate }
}

function usableKey(read: () => KeyObject): KeyObject {
  const key = keyFrom(read)
  if (key === undefined)
    throw new X509Error('is a private key that cannot be read; it has to be EC, as SEC 1 or PKCS #8')
  const curve = key.asymmetricKeyDetails?.namedCurve ?? ''
  if (!CURVES.includes(curve))
    throw new X509Error('is a key on neither P-256 nor brainpoolP256r1; SGP.22 takes no other')
  return key
}

/** The library's words may be about the key: they go no further. */
function keyFrom(read: () => KeyObject): KeyObject | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
