import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { RspCurve } from './bsp-keys.ts'
import { oidText } from './oid.ts'
import { readOne, type Tlv, TlvError } from './tlv.ts'
import { X509Error } from './x509-error.ts'
import { type Extensions, readExtensions } from './x509-extensions.ts'
import { type DistinguishedName, readName } from './x509-name.ts'
import { type CertificateRole, roleOf } from './x509-role.ts'

/** Object identifiers of the curves. RFC 5480 §2.1.1.1, RFC 5639 §4.1. */
export const CURVE_OIDS: Readonly<Record<RspCurve, string>> = {
  'P-256': '1.2.840.10045.3.1.7',
  brainpoolP256r1: '1.3.36.3.3.2.8.1.1.7',
}

/** An X.509 certificate as this field uses it. SGP.22 §4.5.2. */
export interface Certificate extends Extensions {
  /** The whole certificate as received, and what its signature is over. */
  readonly raw: Uint8Array
  readonly tbs: Uint8Array
  /** DER `ECDSA-Sig-Value`. */
  readonly signature: Uint8Array
  /** Hexadecimal; of any length: it is compared and shown, nothing else. */
  readonly serial: string
  readonly issuer: DistinguishedName
  readonly subject: DistinguishedName
  /** Ms since the epoch; both ends belong to it. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** Undefined when the policies say none. */
  readonly role: CertificateRole | undefined
  /** Which generation of policies says the role. */
  readonly variant: 'O' | 'v3'
  readonly curve: RspCurve
  /** SubjectPublicKeyInfo, DER. */
  readonly spki: Uint8Array
}

/** RFC 5480: id-ecPublicKey, ecdsa-with-SHA256. */
export const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
export const ECDSA_SHA256 = '1.2.840.10045.4.3.2'

/** No certificate of this field has a thousand octets; a chain of a server may be larger. */
const MAX_OCTETS = 8192

/** Reads a certificate (DER). Throws `X509Error`, and nothing else whatever the octets are. */
export function readCertificate(der: Uint8Array): Certificate {
  if (der.length > MAX_OCTETS) throw new X509Error(`has ${der.length} octets, more than ${MAX_OCTETS}`)
  try {
    return read(der)
  } catch (cause) {
    if (cause instanceof TlvError) throw new X509Error(`is no DER: ${cause.message}`, { cause })
    throw cause
  }
}

/** The key of a certificate. Throws `X509Error` when its point is not on the curve. */
export function publicKeyOf(certificate: Certificate): KeyObject {
  try {
    // As text: Node takes as long again to see that an object with octets is no key (15 µs with Node 24).
    const { buffer, byteOffset, byteLength } = certificate.spki
    const base64 = Buffer.from(buffer, byteOffset, byteLength).toString('base64')
    return createPublicKey(`-----BEGIN PUBLIC KEY-----\n${base64}\n-----END PUBLIC KEY-----\n`)
  } catch (cause) {
    throw new X509Error('has a public key that is no point of its curve', { cause })
  }
}

/** Whether the key of `issuer` made the signature of `certificate`: ECDSA with SHA-256, both curves. */
export function isSignedBy(certificate: Certificate, issuer: KeyObject): boolean {
  try {
    return verify('sha256', certificate.tbs, issuer, certificate.signature)
  } catch {
    // A signature that is no DER at all: no signature.
    return false
  }
}

function read(der: Uint8Array): Certificate {
  const whole = expected(readOne(der), 0x30, 'certificate')
  const [tbs, algorithm, signature, rest] = whole.children()
  if (tbs?.tag !== 0x30 || algorithm === undefined || signature?.tag !== 0x03 || rest !== undefined)
    throw new X509Error('is no certificate')
  // X.690 §8.6.2: how many bits of the last octet do not count; none here, in signature and key.
  if (signature.value[0] !== 0) throw new X509Error('has a signature that cannot be read')
  const fields = [...tbs.children()]
  const version = fields[0]?.tag === 0xa0 ? fields.shift() : undefined
  if (version === undefined || version.children()[0]?.value[0] !== 2)
    throw new X509Error('is not of version 3')
  const [serial, inner, issuer, validity, subject, spki] = fields
  if (serial?.tag !== 0x02 || inner === undefined || issuer === undefined || validity === undefined)
    throw new X509Error('lacks fields')
  if (subject === undefined || spki === undefined) throw new X509Error('lacks fields')
  checkAlgorithm(inner, algorithm)
  const [notBeforeMs, notAfterMs] = readValidity(validity)
  const extensions = readExtensions(fields.find(({ tag }) => tag === 0xa3)?.children()[0])
  const { role, variant } = roleOf(extensions.policies) ?? { role: undefined, variant: 'O' }
  return {
    ...extensions,
    raw: whole.raw,
    tbs: tbs.raw,
    signature: signature.value.subarray(1),
    serial: Buffer.from(serial.value).toString('hex'),
    issuer: readName(issuer),
    subject: readName(subject),
    notBeforeMs,
    notAfterMs,
    role,
    variant,
    curve: curveOf(spki),
    spki: spki.raw,
  }
}

/** RFC 5280 §4.1.1.2: the same inside and outside; ECDSA with SHA-256. Throws `X509Error`. */
export function checkAlgorithm(inner: Tlv, outer: Tlv): void {
  const [oid, rest] = outer.children()
  if (oid?.tag !== 0x06 || oidText(oid.value) !== ECDSA_SHA256 || rest !== undefined)
    throw new X509Error('is not signed with ECDSA and SHA-256')
  if (Buffer.compare(inner.raw, outer.raw) !== 0)
    throw new X509Error('says one algorithm of signature inside and another outside')
}

function curveOf(spki: Tlv): RspCurve {
  const [algorithm, key] = expected(spki, 0x30, 'public key').children()
  const [kind, parameters] = algorithm?.children() ?? []
  const oid = parameters?.tag === 0x06 ? oidText(parameters.value) : undefined
  const isKey = kind?.tag === 0x06 && oidText(kind.value) === EC_PUBLIC_KEY
  const curve = oid === CURVE_OIDS['P-256'] ? 'P-256' : 'brainpoolP256r1'
  if (!isKey || oid !== CURVE_OIDS[curve])
    throw new X509Error('has a key on neither P-256 nor brainpoolP256r1')
  // An unused-bits octet, 04, X, Y. SGP.22 §2.6.7.1.
  if (key?.tag !== 0x03 || key.value.length !== 66 || key.value[0] !== 0 || key.value[1] !== 4)
    throw new X509Error('has a public key that is no uncompressed point')
  return curve
}

function readValidity(validity: Tlv): readonly [number, number] {
  const [from, to] = expected(validity, 0x30, 'validity').children()
  if (from === undefined || to === undefined) throw new X509Error('says no validity')
  return [timeOf(from), timeOf(to)]
}

/** UTCTime until 2049 and GeneralizedTime, whole seconds of UTC; 9999-12-31 is the end that never comes. RFC 5280 §4.1.2.5. Throws `X509Error`. */
export function timeOf(tlv: Tlv): number {
  const text = Buffer.from(tlv.value).toString('latin1')
  const isShort = tlv.tag === 0x17
  if (!(isShort ? /^[0-9]{12}Z$/ : /^[0-9]{14}Z$/).test(text) || (!isShort && tlv.tag !== 0x18))
    throw new X509Error('has a time that cannot be read')
  const full = isShort ? `${Number(text.slice(0, 2)) < 50 ? 20 : 19}${text}` : text
  const iso = full.replace(/^(....)(..)(..)(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6.000Z')
  const ms = Date.parse(iso)
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== iso)
    throw new X509Error('has a time that does not exist')
  return ms
}

function expected(tlv: Tlv, tag: number, what: string): Tlv {
  if (tlv.tag !== tag) throw new X509Error(`has a ${what} that cannot be read`)
  return tlv
}
