import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import type { RspCurve } from './bsp.ts'
import { oidText } from './oid.ts'
import { readOne, type Tlv, TlvError } from './tlv.ts'

/** What a certificate is for, in this field. SGP.22 §2.4a.1, SGP.22 v3 annex. */
export type CertificateRole = 'ci' | 'euicc' | 'eum' | 'dptls' | 'dpauth' | 'dppb'

/** Policies by which a certificate says its role. `v3`: those of the new variants (SGP.22 v3; SGP.26 v3 variants A, B, C, Ov3). */
export const ROLE_POLICIES: readonly {
  readonly oid: string
  readonly role: CertificateRole
  readonly variant: 'O' | 'v3'
}[] = [
  { oid: '2.23.146.1.2.1.0', role: 'ci', variant: 'O' },
  { oid: '2.23.146.1.2.1.1', role: 'euicc', variant: 'O' },
  { oid: '2.23.146.1.2.1.2', role: 'eum', variant: 'O' },
  { oid: '2.23.146.1.2.1.3', role: 'dptls', variant: 'O' },
  { oid: '2.23.146.1.2.1.4', role: 'dpauth', variant: 'O' },
  { oid: '2.23.146.1.2.1.5', role: 'dppb', variant: 'O' },
  { oid: '2.23.146.1.2.1.0.0.0', role: 'eum', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.0.0.0', role: 'euicc', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.1.0', role: 'dptls', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.1.1', role: 'dpauth', variant: 'v3' },
  { oid: '2.23.146.1.2.1.0.0.1.2', role: 'dppb', variant: 'v3' },
]

/** The role that the policies say; undefined when they say none, or two. */
function roleOf(
  policies: readonly string[],
): { readonly role: CertificateRole; readonly variant: 'O' | 'v3' } | undefined {
  const [first, second] = ROLE_POLICIES.filter(({ oid }) => policies.includes(oid))
  return second === undefined ? first : undefined
}

/** A certificate that cannot be read or is not what it should be. The message says what is wrong with it. */
export class X509Error extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options)
    this.name = 'X509Error'
  }
}

/** A distinguished name: its attributes in order. RFC 5280 §4.1.2.4. */
export interface DistinguishedName {
  /** As written, for a certificate's octets. */
  readonly raw: Uint8Array
  readonly attributes: readonly { readonly oid: string; readonly text: string }[]
  readonly country: string | undefined
  readonly organization: string | undefined
  readonly commonName: string | undefined
  /** In CERT.EUICC the EID, in name constraints the beginning of it. */
  readonly serialNumber: string | undefined
}

/** Attribute types. RFC 5280 appendix A.1. */
export const ATTRIBUTE: Readonly<
  Record<'commonName' | 'serialNumber' | 'country' | 'organization' | 'unit', string>
> = {
  commonName: '2.5.4.3',
  serialNumber: '2.5.4.5',
  country: '2.5.4.6',
  organization: '2.5.4.10',
  unit: '2.5.4.11',
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Reads a `Name`. Throws `X509Error`, `TlvError`. One attribute of each kind that matters here, or it is refused. */
function readName(tlv: Tlv): DistinguishedName {
  if (tlv.tag !== 0x30) throw new X509Error('a name is no sequence')
  const attributes = tlv.children().flatMap((set) => {
    if (set.tag !== 0x31) throw new X509Error('a part of a name is no set')
    return set.children().map(readAttribute)
  })
  const one = (oid: string, what: string): string | undefined => {
    const found = attributes.filter((attribute) => attribute.oid === oid)
    // Of two serial numbers (EIDs) each reader could believe another one.
    if (found.length > 1) throw new X509Error(`a name has ${found.length} attributes ${what}`)
    return found[0]?.text
  }
  return {
    raw: tlv.raw,
    attributes,
    country: one(ATTRIBUTE.country, 'C'),
    organization: one(ATTRIBUTE.organization, 'O'),
    commonName: one(ATTRIBUTE.commonName, 'CN'),
    serialNumber: one(ATTRIBUTE.serialNumber, 'serialNumber'),
  }
}

/** Whether two attribute values are the same: case and the amount of space do not count. RFC 4518, as RFC 5280 §7.1 asks. */
export function isSameText(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && prepared(a) === prepared(b)
}

/** Whether two names are the same, whatever string types they are written in. RFC 5280 §7.1. */
export function isSameName(a: DistinguishedName, b: DistinguishedName): boolean {
  return (
    a.attributes.length === b.attributes.length &&
    a.attributes.every((attribute, i) => {
      const other = b.attributes[i]
      return attribute.oid === other?.oid && isSameText(attribute.text, other.text)
    })
  )
}

/** A name for people: `CN=Test CI, O=RSPTEST`. What would steer a terminal is a question mark. */
export function nameText(name: DistinguishedName): string {
  const short = new Map([
    [ATTRIBUTE.commonName, 'CN'],
    [ATTRIBUTE.serialNumber, 'serialNumber'],
    [ATTRIBUTE.country, 'C'],
    [ATTRIBUTE.organization, 'O'],
    [ATTRIBUTE.unit, 'OU'],
  ])
  return name.attributes
    .map(({ oid, text }) => `${short.get(oid) ?? oid}=${text}`)
    .join(', ')
    .replace(/[\p{Cc}\p{Cf}]/gu, '?')
}

function readAttribute(tlv: Tlv): { oid: string; text: string } {
  const [type, value] = tlv.children()
  const oid = type?.tag === 0x06 ? oidText(type.value) : undefined
  if (tlv.tag !== 0x30 || oid === undefined || value === undefined)
    throw new X509Error('an attribute of a name cannot be read')
  return { oid, text: readText(value) }
}

/** UTF8String, and those that are octet by octet what they say. X.680 §41. */
function readText(tlv: Tlv): string {
  const isKnown = [0x0c, 0x12, 0x13, 0x14, 0x16].includes(tlv.tag)
  // BMPString and UniversalString come in no certificate of this field: shown, and equal to nothing else.
  if (!isKnown) return `#${Buffer.from(tlv.raw).toString('hex')}`
  try {
    return utf8.decode(tlv.value)
  } catch (cause) {
    throw new X509Error('a name holds text that is no UTF-8', { cause })
  }
}

function prepared(text: string): string {
  return text.trim().replace(/\s+/g, ' ').toLowerCase()
}

/** Purposes of a key. RFC 5280 §4.2.1.3, in the order of their bits. */
export const KEY_USAGES = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
] as const
export type KeyUsage = (typeof KEY_USAGES)[number]

/** What the extensions of a certificate say. RFC 5280 §4.2, SGP.22 §4.5.2.1. */
interface Extensions {
  /** Hexadecimal, lower case, as all key identifiers here. */
  readonly subjectKeyId: string | undefined
  readonly authorityKeyId: string | undefined
  readonly keyUsage: readonly KeyUsage[]
  readonly isCa: boolean
  readonly pathLength: number | undefined
  /** Dotted. */
  readonly policies: readonly string[]
  /** Registered id of the subject alternative name: who owns the certificate. Dotted, and its value octets. */
  readonly registeredId: { readonly text: string; readonly octets: Uint8Array } | undefined
  readonly dnsNames: readonly string[]
  /** Addresses of the subject alternative name: `192.0.2.1`, `2001:db8:0:0:0:0:0:1`. */
  readonly addresses: readonly string[]
  /** Names that certificates below may have; undefined without name constraints. */
  readonly permittedNames: readonly DistinguishedName[] | undefined
  /** EUM identification numbers of the new variants: how EIDs below begin. SGP.22 v3, 2.23.146.1.2.2.0. */
  readonly permittedEins: readonly string[] | undefined
}

type Mutable = { -readonly [Key in keyof Extensions]: Extensions[Key] }

/** Extension identifiers. RFC 5280 §4.2.1; 2.23.146.1.2.2.0 is GSMA's. */
export const EXTENSION = {
  subjectKeyId: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  crlDistributionPoints: '2.5.29.31',
  policies: '2.5.29.32',
  authorityKeyId: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  permittedEins: '2.23.146.1.2.2.0',
} as const

const readers: Readonly<Record<string, (value: Tlv, into: Mutable) => void>> = {
  [EXTENSION.subjectKeyId]: (value, into) => {
    into.subjectKeyId = hex(expectedExtension(value, 0x04, 'subjectKeyIdentifier').value)
  },
  [EXTENSION.keyUsage]: (value, into) => {
    into.keyUsage = keyUsages(expectedExtension(value, 0x03, 'keyUsage').value)
  },
  [EXTENSION.subjectAltName]: readAlternativeNames,
  [EXTENSION.basicConstraints]: readBasicConstraints,
  [EXTENSION.nameConstraints]: (value, into) => {
    into.permittedNames = permittedNames(expectedExtension(value, 0x30, 'nameConstraints'))
  },
  [EXTENSION.crlDistributionPoints]: () => undefined,
  [EXTENSION.policies]: (value, into) => {
    into.policies = expectedExtension(value, 0x30, 'certificatePolicies')
      .children()
      .map((policy) => oidOf(policy.children()[0]))
  },
  [EXTENSION.authorityKeyId]: (value, into) => {
    const id = expectedExtension(value, 0x30, 'authorityKeyIdentifier')
      .children()
      .find(({ tag }) => tag === 0x80)
    into.authorityKeyId = id === undefined ? undefined : hex(id.value)
  },
  [EXTENSION.extendedKeyUsage]: () => undefined,
  [EXTENSION.permittedEins]: (value, into) => {
    into.permittedEins = expectedExtension(value, 0x30, 'permittedEins').children().map(einOf)
  },
}

/** Reads the `Extensions` of a certificate. Throws `X509Error` (a critical one that is not known, one twice), `TlvError`. */
function readExtensions(list: Tlv | undefined): Extensions {
  const into: Mutable = {
    subjectKeyId: undefined,
    authorityKeyId: undefined,
    keyUsage: [],
    isCa: false,
    pathLength: undefined,
    policies: [],
    registeredId: undefined,
    dnsNames: [],
    addresses: [],
    permittedNames: undefined,
    permittedEins: undefined,
  }
  const seen = new Set<string>()
  for (const extension of list?.children() ?? []) {
    const { oid, isCritical, value } = partsOf(extension)
    if (seen.has(oid)) throw new X509Error(`has extension ${oid} twice`)
    seen.add(oid)
    const read = readers[oid]
    if (read !== undefined) read(readOne(value), into)
    else if (isCritical) throw new X509Error(`has critical extension ${oid}, which is not known here`)
  }
  return into
}

export function partsOf(extension: Tlv): { oid: string; isCritical: boolean; value: Uint8Array } {
  const parts = extension.children()
  const [id, second] = parts
  const value = parts.at(-1)
  if (id === undefined || value?.tag !== 0x04 || parts.length > 3)
    throw new X509Error('has an extension that cannot be read')
  const isCritical = second?.tag === 0x01 && second.value[0] !== 0
  return { oid: oidOf(id), isCritical, value: value.value }
}

function readBasicConstraints(value: Tlv, into: Mutable): void {
  const [first, second] = expectedExtension(value, 0x30, 'basicConstraints').children()
  into.isCa = first?.tag === 0x01 && first.value.length === 1 && first.value[0] !== 0
  const length = first?.tag === 0x02 ? first : second
  if (length === undefined) return
  const [octet] = length.value
  if (length.tag !== 0x02 || length.value.length !== 1 || octet === undefined || octet > 0x7f)
    throw new X509Error('has a path length that cannot be read')
  into.pathLength = octet
}

/** dNSName is `82`, iPAddress `87`, registeredID `88`; the other kinds say nothing here. RFC 5280 §4.2.1.6. */
function readAlternativeNames(value: Tlv, into: Mutable): void {
  const names = expectedExtension(value, 0x30, 'subjectAltName').children()
  const ids = names.filter(({ tag }) => tag === 0x88)
  if (ids.length > 1) throw new X509Error('has more than one registered id')
  into.registeredId = ids[0] && { text: oidOf(ids[0], 0x88), octets: ids[0].value }
  into.dnsNames = names.filter(({ tag }) => tag === 0x82).map((name) => ascii(name.value))
  into.addresses = names.filter(({ tag }) => tag === 0x87).map((name) => addressText(name.value))
}

function addressText(octets: Uint8Array): string {
  if (octets.length === 4) return octets.join('.')
  if (octets.length !== 16) throw new X509Error('has an address of neither 4 nor 16 octets')
  const word = (i: number): string => (((octets[i] ?? 0) << 8) | (octets[i + 1] ?? 0)).toString(16)
  return [0, 2, 4, 6, 8, 10, 12, 14].map(word).join(':')
}

/** `permittedSubtrees [0]` of directory names `[4]`. RFC 5280 §4.2.1.10, used as SGP.22 §4.5.2.1.0.2 says. */
function permittedNames(constraints: Tlv): readonly DistinguishedName[] {
  const parts = constraints.children()
  // What is excluded could only narrow; no EUM has it, and to pass over it would widen.
  if (parts.some(({ tag }) => tag !== 0xa0)) throw new X509Error('has name constraints that exclude')
  return parts.flatMap((subtrees) =>
    subtrees.children().map((subtree) => {
      const [base] = subtree.children()
      const [name] = base?.tag === 0xa4 ? base.children() : []
      if (name === undefined) throw new X509Error('has name constraints on something else than a name')
      return readName(name)
    }),
  )
}

function einOf(tlv: Tlv): string {
  const text = ascii(tlv.value)
  if (!/^[0-9]{1,32}$/.test(text)) throw new X509Error('permits an EIN that is no digits')
  return text
}

function keyUsages(value: Uint8Array): readonly KeyUsage[] {
  const [, octet = 0] = value
  return KEY_USAGES.filter((_, bit) => (octet & (0x80 >> bit)) !== 0)
}

function expectedExtension(tlv: Tlv, tag: number, what: string): Tlv {
  if (tlv.tag !== tag) throw new X509Error(`${what} cannot be read`)
  return tlv
}

function oidOf(tlv: Tlv | undefined, tag = 0x06): string {
  const oid = tlv?.tag === tag ? oidText(tlv.value) : undefined
  if (oid === undefined) throw new X509Error('has an object identifier that cannot be read')
  return oid
}

function hex(octets: Uint8Array): string {
  return Buffer.from(octets).toString('hex')
}

function ascii(octets: Uint8Array): string {
  return Buffer.from(octets).toString('latin1')
}

/** Object identifiers of the curves. RFC 5480 §2.1.1.1, RFC 5639 §4.1. */
const CURVE_OIDS: Readonly<Record<RspCurve, string>> = {
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
const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
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
    return createPublicKey({ key: Buffer.from(certificate.spki), format: 'der', type: 'spki' })
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
