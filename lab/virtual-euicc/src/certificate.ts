import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { child, readOne, type Tlv } from '@steeple/sgp22'
import { isSame } from './octets.ts'

/** One identity of an eUICC, as it is made: certificates in DER, and its private key. */
export interface EuiccChain {
  readonly curve: Curve
  readonly ciDer: Uint8Array
  readonly eumDer: Uint8Array
  readonly euiccDer: Uint8Array
  readonly euiccKey: KeyObject
}

/** A chain that was read and found whole. */
export interface Chain {
  readonly curve: Curve
  readonly ci: Certificate
  /** The CI's subject key identifier. */
  readonly ciPkid: Uint8Array
  readonly eumDer: Uint8Array
  readonly euiccDer: Uint8Array
  readonly euiccKey: KeyObject
}

/** A chain that an eUICC cannot be made with. The message says why. */
export class ChainError extends Error {}

/** Reads a chain and holds it together: CI, EUM, eUICC, EID and key. Throws `ChainError`. */
export function readChain(chain: EuiccChain, eid: string): Chain {
  try {
    const ci = readCertificate(chain.ciDer)
    const eum = readCertificate(chain.eumDer)
    const euicc = readCertificate(chain.euiccDer)
    checkIssued(eum, ci)
    checkIssued(euicc, eum)
    checkRole(euicc, ROLE.euicc)
    if (ci.subjectKeyId === undefined) throw new ChainError('the CI has no subject key identifier')
    if (ci.curve !== chain.curve) throw new ChainError(`the chain is on ${ci.curve}, not on ${chain.curve}`)
    if (euicc.subjectSerial !== eid) throw new ChainError('CERT.EUICC is for another EID')
    if (!isSame(publicOctets(euicc.key), publicOctets(createPublicKey(chain.euiccKey))))
      throw new ChainError('the key is not the one of CERT.EUICC')
    return {
      curve: chain.curve,
      ci,
      ciPkid: ci.subjectKeyId,
      eumDer: chain.eumDer,
      euiccDer: chain.euiccDer,
      euiccKey: chain.euiccKey,
    }
  } catch (cause) {
    if (cause instanceof ChainError) throw cause
    throw new ChainError(`a chain of the eUICC is not good: ${cause instanceof Error ? cause.message : ''}`, {
      cause,
    })
  }
}

function publicOctets(key: KeyObject): Uint8Array {
  return Uint8Array.from(key.export({ format: 'der', type: 'spki' }))
}

/** A curve that an eUICC may support. SGP.22 §2.6.7.1. */
export type Curve = 'P-256' | 'brainpoolP256r1'

/** What an eUICC reads of a certificate. Octets of object identifiers are their value, hexadecimal. SGP.22 §4.5. */
export interface Certificate {
  readonly der: Uint8Array
  readonly tbs: Uint8Array
  readonly signature: Uint8Array
  readonly curve: Curve
  readonly key: KeyObject
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  /** The subject's serialNumber: the EID in CERT.EUICC. */
  readonly subjectSerial: string | undefined
  readonly subjectKeyId: Uint8Array | undefined
  readonly authorityKeyId: Uint8Array | undefined
  readonly policies: readonly string[]
  /** The registered id of the subject alternative name: who owns the certificate. */
  readonly registeredId: Uint8Array | undefined
  readonly keyUsage: number
  readonly isCa: boolean
}

/** A certificate that cannot be used. The message says what is wrong with it. */
export class CertificateError extends Error {}

/** The roles of SGP.22 §4.5.2.1.0.2: 2.23.146.1.2.1.n. */
export const ROLE = {
  ci: '67811201020100',
  euicc: '67811201020101',
  eum: '67811201020102',
  dpTls: '67811201020103',
  dpAuth: '67811201020104',
  dpPb: '67811201020105',
} as const

/** First bits of keyUsage. RFC 5280 §4.2.1.3. */
const KEY_USAGE = { digitalSignature: 0x80, keyCertSign: 0x04 } as const

const EC_PUBLIC_KEY = '2a8648ce3d0201'
const ECDSA_SHA256 = '2a8648ce3d040302'
const CURVES: Readonly<Record<string, Curve>> = {
  '2a8648ce3d030107': 'P-256',
  '2b2403030208010107': 'brainpoolP256r1',
}
const SERIAL_NUMBER = '550405'
const EXTENSION = {
  subjectKeyId: '551d0e',
  keyUsage: '551d0f',
  subjectAltName: '551d11',
  basicConstraints: '551d13',
  nameConstraints: '551d1e',
  policies: '551d20',
  authorityKeyId: '551d23',
} as const
const UNDERSTOOD = new Set<string>(Object.values(EXTENSION))

/** Reads a certificate. Throws `CertificateError`, `TlvError`. RFC 5280 §4.1. */
export function readCertificate(der: Uint8Array): Certificate {
  const [tbs, algorithm, signature, ...rest] = readOne(der).children()
  if (tbs === undefined || algorithm === undefined || signature?.tag !== 0x03 || rest.length > 0)
    throw new CertificateError('is no certificate')
  const fields = tbs.children()
  const [version, , signedWith, issuer, , subject, spki] = fields
  if (version?.tag !== 0xa0 || signedWith === undefined || issuer === undefined)
    throw new CertificateError('is no X.509 version 3')
  if (subject === undefined || spki === undefined) throw new CertificateError('has no key')
  if (oid(algorithm) !== ECDSA_SHA256 || oid(signedWith) !== ECDSA_SHA256)
    throw new CertificateError('is not signed with ecdsa-with-SHA256')
  const extensions = readExtensions(fields.find((field) => field.tag === 0xa3))
  return {
    der,
    tbs: tbs.raw,
    signature: signature.value.subarray(1),
    ...readKey(spki),
    issuer: issuer.raw,
    subject: subject.raw,
    subjectSerial: serialOf(subject),
    ...extensions,
  }
}

/**
 * Holds a certificate to its issuer's: name, key identifier, signature, and that the issuer may sign.
 * Throws `CertificateError`. Dates are not looked at: an eUICC has no clock. SGP.22 §4.5.2.2.
 */
export function checkIssued(certificate: Certificate, issuer: Certificate): void {
  if (!isSame(certificate.authorityKeyId, issuer.subjectKeyId))
    throw new CertificateError('names another issuer by its authority key identifier')
  if (!isSame(certificate.issuer, issuer.subject)) throw new CertificateError('names another issuer')
  if (!issuer.isCa || (issuer.keyUsage & KEY_USAGE.keyCertSign) === 0)
    throw new CertificateError('is signed by one who may not sign certificates')
  if (certificate.curve !== issuer.curve) throw new CertificateError('is on another curve than its issuer')
  if (!verify('sha256', certificate.tbs, { key: issuer.key, dsaEncoding: 'der' }, certificate.signature))
    throw new CertificateError('has a signature that is not its issuer’s')
}

/** Holds an end entity of the SM-DP+ to its role. Throws `CertificateError`. SGP.22 §4.5.2.1. */
export function checkRole(certificate: Certificate, role: string): void {
  if (!certificate.policies.includes(role))
    throw new CertificateError('does not have the role that it is used in')
  if ((certificate.keyUsage & KEY_USAGE.digitalSignature) === 0)
    throw new CertificateError('may not be used for signatures')
  if (certificate.isCa) throw new CertificateError('is one of an authority')
}

function readKey(spki: Tlv): { readonly curve: Curve; readonly key: KeyObject } {
  const [algorithm] = spki.children()
  const [type, curve] = algorithm?.children() ?? []
  if (hex(type?.value) !== EC_PUBLIC_KEY) throw new CertificateError('has a key that is no EC key')
  const named = CURVES[hex(curve?.value)]
  if (named === undefined) throw new CertificateError('has a key on an unsupported curve')
  try {
    return {
      curve: named,
      key: createPublicKey({ key: Buffer.from(spki.raw), format: 'der', type: 'spki' }),
    }
  } catch (cause) {
    throw new CertificateError('has a key that is no point of its curve', { cause })
  }
}

function serialOf(subject: Tlv): string | undefined {
  for (const set of subject.children())
    for (const attribute of set.children()) {
      const [type, value] = attribute.children()
      if (hex(type?.value) === SERIAL_NUMBER && value !== undefined)
        return Buffer.from(value.value).toString('latin1')
    }
  return undefined
}

type Extensions = Pick<
  Certificate,
  'subjectKeyId' | 'authorityKeyId' | 'policies' | 'registeredId' | 'keyUsage' | 'isCa'
>

function readExtensions(list: Tlv | undefined): Extensions {
  const found = new Map<string, Uint8Array>()
  for (const extension of list?.children()[0]?.children() ?? []) {
    const parts = extension.children()
    const name = hex(parts[0]?.value)
    const value = parts.at(-1)
    if (value?.tag !== 0x04) throw new CertificateError('has an extension without a value')
    if (found.has(name)) throw new CertificateError('has an extension twice')
    const isCritical = parts[1]?.tag === 0x01 && parts[1].value[0] === 0xff
    if (isCritical && !UNDERSTOOD.has(name))
      throw new CertificateError('has a critical extension that is not understood')
    found.set(name, value.value)
  }
  const read = (name: string) => {
    const value = found.get(name)
    return value === undefined ? undefined : readOne(value)
  }
  const usage = read(EXTENSION.keyUsage)
  const constraints = read(EXTENSION.basicConstraints)
  const authority = read(EXTENSION.authorityKeyId)
  const names = read(EXTENSION.subjectAltName)
  return {
    subjectKeyId: read(EXTENSION.subjectKeyId)?.value,
    authorityKeyId: authority === undefined ? undefined : child(authority, 0x80)?.value,
    policies: (read(EXTENSION.policies)?.children() ?? []).map((policy) => oid(policy)),
    registeredId: names === undefined ? undefined : child(names, 0x88)?.value,
    keyUsage: usage?.value[1] ?? 0,
    isCa: constraints?.children()[0]?.tag === 0x01 && constraints.children()[0]?.value[0] === 0xff,
  }
}

function oid(sequence: Tlv): string {
  return hex(sequence.children()[0]?.value)
}

function hex(octets: Uint8Array | undefined): string {
  return Buffer.from(octets ?? []).toString('hex')
}
