import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { isIP } from 'node:net'
import type { RspCurve } from './bsp.ts'
import { oidOctets } from './oid.ts'
import { readOne, tlv } from './tlv.ts'
import {
  ATTRIBUTE,
  type Certificate,
  type CertificateRole,
  ECDSA_SHA256,
  EXTENSION,
  KEY_USAGES,
  type KeyUsage,
  ROLE_POLICIES,
  readCertificate,
  X509Error,
} from './x509.ts'

/** Attributes of a name that is to be written; written in this order. */
interface NameParts {
  readonly country?: string
  readonly organization?: string
  readonly unit?: string
  readonly serialNumber?: string
  readonly commonName?: string
}

const utf8 = new TextEncoder()
const NULLISH = new Uint8Array(0)

/** An object identifier, `06…`. Throws `X509Error`. */
function oidTlv(dotted: string, tag = 0x06): Uint8Array {
  const octets = oidOctets(dotted)
  if (octets === undefined) throw new X509Error(`${dotted} is no object identifier`)
  return tlv(tag, octets)
}

/** A name. C and serialNumber are PrintableString (X.520 asks for it), the others UTF8String. */
function nameTlv(parts: NameParts): Uint8Array {
  const order = ['country', 'organization', 'unit', 'serialNumber', 'commonName'] as const
  return tlv(
    0x30,
    ...order.map((key) => {
      const text = parts[key]
      if (text === undefined) return NULLISH
      const tag = key === 'country' || key === 'serialNumber' ? 0x13 : 0x0c
      return tlv(0x31, tlv(0x30, oidTlv(ATTRIBUTE[key]), tlv(tag, utf8.encode(text))))
    }),
  )
}

/** UTCTime until 2049, then GeneralizedTime. RFC 5280 §4.1.2.5. */
export function timeTlv(ms: number): Uint8Array {
  const text = `${new Date(ms).toISOString().slice(0, 19).replace(/[-:T]/g, '')}Z`
  return text < '2050' ? tlv(0x17, utf8.encode(text.slice(2))) : tlv(0x18, utf8.encode(text))
}

/** The extension `oid` around what it says. */
export function extensionTlv(oid: string, isCritical: boolean, value: Uint8Array): Uint8Array {
  const critical = isCritical ? tlv(0x01, Uint8Array.of(0xff)) : NULLISH
  return tlv(0x30, oidTlv(oid), critical, tlv(0x04, value))
}

/** Key usage, critical. The last octet counts its unused bits, as DER asks. */
function keyUsageTlv(usages: readonly KeyUsage[]): Uint8Array {
  const octet = usages.reduce((bits, usage) => bits | (0x80 >> KEY_USAGES.indexOf(usage)), 0)
  const unused = 31 - Math.clz32(octet & -octet)
  return extensionTlv(EXTENSION.keyUsage, true, tlv(0x03, Uint8Array.of(unused, octet)))
}

/** Host names (or addresses) and the registered id of an owner. */
function alternativeNameTlv(hosts: readonly string[], registeredId: string | undefined): Uint8Array {
  const names = hosts.map((host) =>
    isIP(host) === 0 ? tlv(0x82, utf8.encode(host)) : tlv(0x87, addressOctets(host)),
  )
  const id = registeredId === undefined ? [] : [oidTlv(registeredId, 0x88)]
  return extensionTlv(EXTENSION.subjectAltName, false, tlv(0x30, ...names, ...id))
}

/** Authority constraints, critical. */
function basicConstraintsTlv(pathLength: number | undefined): Uint8Array {
  const length = pathLength === undefined ? NULLISH : tlv(0x02, Uint8Array.of(pathLength))
  return extensionTlv(EXTENSION.basicConstraints, true, tlv(0x30, tlv(0x01, Uint8Array.of(0xff)), length))
}

function policyTlv(policy: string, isCritical: boolean): Uint8Array {
  return extensionTlv(EXTENSION.policies, isCritical, tlv(0x30, tlv(0x30, oidTlv(policy))))
}

/** Where revocation lists would be: one distribution point each. */
function crlTlv(urls: readonly string[]): Uint8Array {
  const points = urls.map((url) => tlv(0x30, tlv(0xa0, tlv(0xa0, tlv(0x86, utf8.encode(url))))))
  return extensionTlv(EXTENSION.crlDistributionPoints, false, tlv(0x30, ...points))
}

/** Names that an authority may give, critical. */
function nameConstraintsTlv(names: readonly NameParts[]): Uint8Array {
  const subtrees = names.map((name) => tlv(0x30, tlv(0xa4, nameTlv(name))))
  return extensionTlv(EXTENSION.nameConstraints, true, tlv(0x30, tlv(0xa0, ...subtrees)))
}

/** EINs that an EUM of the new variants may give. */
function permittedEinsTlv(eins: readonly string[]): Uint8Array {
  const list = tlv(0x30, ...eins.map((ein) => tlv(0x13, utf8.encode(ein))))
  return extensionTlv(EXTENSION.permittedEins, false, list)
}

/** TLS server and client. RFC 5280 §4.2.1.12. */
function tlsUsageTlv(): Uint8Array {
  const usages = ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'].map((oid) => oidTlv(oid))
  return extensionTlv(EXTENSION.extendedKeyUsage, true, tlv(0x30, ...usages))
}

/** 4 or 16 octets. */
function addressOctets(address: string): Uint8Array {
  if (isIP(address) === 4) return Uint8Array.from(address.split('.'), Number)
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'))
  const rest = tail === undefined ? [] : groups(tail)
  const zeros = new Array<string>(8 - groups(head).length - rest.length).fill('0')
  const words = [...groups(head), ...zeros, ...rest].map((word) => Number.parseInt(word, 16))
  return Uint8Array.from(words.flatMap((word) => [word >> 8, word & 0xff]))
}

/** A certificate and its private key; the public one when its owner gave no more. */
export interface Issued {
  readonly certificate: Certificate
  readonly key: KeyObject
}

export interface IssueTerms {
  readonly subject: NameParts
  /** Ms since the epoch. */
  readonly notBeforeMs: number
  readonly notAfterMs: number
  /** The private key, or the public one when its owner keeps it; a new one on the issuer's curve when absent. */
  readonly key?: KeyObject
}

/** Where those of SGP.26 say that revocation lists are; a host that cannot exist. */
const TEST_CRLS = ['http://ci.test.example.com/CRL-A.crl', 'http://ci.test.example.com/CRL-B.crl']

/** A private key on that curve. */
export function newKey(curve: RspCurve): KeyObject {
  const namedCurve = curve === 'P-256' ? 'prime256v1' : 'brainpoolP256r1'
  return generateKeyPairSync('ec', { namedCurve }).privateKey
}

/** A certificate issuer, signed by itself. Extensions of SGP.26 CERT.CI. */
export function issueCi(curve: RspCurve, terms: IssueTerms & { readonly registeredId: string }): Issued {
  const key = terms.key ?? newKey(curve)
  const extensions = [
    subjectKeyTlv(key),
    basicConstraintsTlv(undefined),
    policyTlv(policyOf('ci'), true),
    keyUsageTlv(['keyCertSign', 'cRLSign']),
    alternativeNameTlv([], terms.registeredId),
    crlTlv(TEST_CRLS),
  ]
  return signed(terms, key, extensions, { name: nameTlv(terms.subject), key })
}

/** CERT.DPauth or CERT.DPpb: both of one server have the same owner. SGP.22 §4.5.2.1.0.4. */
export function issueDp(
  ci: Issued,
  role: 'dpauth' | 'dppb',
  terms: IssueTerms & { readonly registeredId: string },
): Issued {
  const key = keyUnder(ci, terms)
  const extensions = [
    authorityKeyTlv(ci),
    subjectKeyTlv(key),
    alternativeNameTlv([], terms.registeredId),
    keyUsageTlv(['digitalSignature']),
    policyTlv(policyOf(role), true),
    crlTlv(TEST_CRLS),
  ]
  return signed(terms, key, extensions, issuerOf(ci))
}

/** CERT.DPtls for host names (or addresses); the first is its common name. SGP.22 §4.5.2.1.1. */
export function issueTls(
  ci: Issued,
  terms: Omit<IssueTerms, 'subject'> & {
    readonly organization: string
    readonly hosts: readonly [string, ...string[]]
    readonly registeredId: string
  },
): Issued {
  const key = keyUnder(ci, terms)
  // RFC 5280 ub-common-name: 64 characters; the whole name is in the alternative names.
  const commonName = terms.hosts[0].slice(0, 64)
  const extensions = [
    keyUsageTlv(['digitalSignature']),
    tlsUsageTlv(),
    policyTlv(policyOf('dptls'), false),
    subjectKeyTlv(key),
    authorityKeyTlv(ci),
    alternativeNameTlv(terms.hosts, terms.registeredId),
    crlTlv(TEST_CRLS),
  ]
  const subject = { organization: terms.organization, commonName }
  return signed({ ...terms, subject }, key, extensions, issuerOf(ci))
}

/** CERT.EUM that may give EIDs beginning with `iins`. SGP.22 §4.5.2.1.0.2; `v3`: the new variants. */
export function issueEum(
  ci: Issued,
  terms: IssueTerms & {
    readonly registeredId: string
    readonly iins: readonly string[]
    readonly variant?: 'O' | 'v3'
  },
): Issued {
  const key = keyUnder(ci, terms)
  const isNew = terms.variant === 'v3'
  const organization = terms.subject.organization ?? ''
  const permitted = isNew
    ? [{ organization }]
    : terms.iins.map((serialNumber) => ({ organization, serialNumber }))
  const extensions = [
    authorityKeyTlv(ci),
    subjectKeyTlv(key),
    keyUsageTlv(['keyCertSign']),
    policyTlv(policyOf('eum', terms.variant), true),
    alternativeNameTlv([], terms.registeredId),
    basicConstraintsTlv(isNew ? 1 : 0),
    crlTlv(TEST_CRLS.slice(1)),
    nameConstraintsTlv(permitted),
    ...(isNew ? [permittedEinsTlv(terms.iins)] : []),
  ]
  return signed(terms, key, extensions, issuerOf(ci))
}

/** CERT.EUICC; its EID is `subject.serialNumber`. SGP.22 §4.5.2.1.0.3. */
export function issueEuicc(eum: Issued, terms: IssueTerms & { readonly variant?: 'O' | 'v3' }): Issued {
  const key = keyUnder(eum, terms)
  const extensions = [
    authorityKeyTlv(eum),
    subjectKeyTlv(key),
    keyUsageTlv(['digitalSignature']),
    policyTlv(policyOf('euicc', terms.variant), true),
  ]
  return signed(terms, key, extensions, issuerOf(eum))
}

/** A list of certificates that an issuer takes back, by their serial numbers (hexadecimal). RFC 5280 §5. */
export function issueRevocationList(
  issuer: Issued,
  terms: {
    readonly serials: readonly string[]
    readonly number: number
    readonly thisUpdateMs: number
    readonly nextUpdateMs: number
    /** Beside key identifier and number. */
    readonly extensions?: readonly Uint8Array[]
  },
): Uint8Array {
  const algorithm = tlv(0x30, oidTlv(ECDSA_SHA256))
  const entries = terms.serials.map((serial) =>
    tlv(0x30, tlv(0x02, Buffer.from(serial, 'hex')), timeTlv(terms.thisUpdateMs)),
  )
  const number = extensionTlv('2.5.29.20', false, tlv(0x02, Uint8Array.of(terms.number & 0x7f)))
  const tbs = tlv(
    0x30,
    tlv(0x02, Uint8Array.of(1)),
    algorithm,
    issuer.certificate.subject.raw,
    timeTlv(terms.thisUpdateMs),
    timeTlv(terms.nextUpdateMs),
    ...(entries.length === 0 ? [] : [tlv(0x30, ...entries)]),
    tlv(0xa0, tlv(0x30, authorityKeyTlv(issuer), number, ...(terms.extensions ?? []))),
  )
  return tlv(0x30, tbs, algorithm, tlv(0x03, Uint8Array.of(0), sign('sha256', tbs, issuer.key)))
}

function keyUnder(issuer: Issued, terms: { readonly key?: KeyObject }): KeyObject {
  return terms.key ?? newKey(issuer.certificate.curve)
}

function issuerOf(issuer: Issued): { name: Uint8Array; key: KeyObject } {
  return { name: issuer.certificate.subject.raw, key: issuer.key }
}

function policyOf(role: CertificateRole, variant: 'O' | 'v3' = 'O'): string {
  const found = ROLE_POLICIES.find((policy) => policy.role === role && policy.variant === variant)
  if (found === undefined) throw new X509Error(`there is no policy for ${role} of variant ${variant}`)
  return found.oid
}

function signed(
  terms: IssueTerms,
  key: KeyObject,
  extensions: readonly Uint8Array[],
  issuer: { readonly name: Uint8Array; readonly key: KeyObject },
): Issued {
  const algorithm = tlv(0x30, oidTlv(ECDSA_SHA256))
  const tbs = tlv(
    0x30,
    tlv(0xa0, tlv(0x02, Uint8Array.of(2))),
    tlv(0x02, newSerial()),
    algorithm,
    issuer.name,
    tlv(0x30, timeTlv(terms.notBeforeMs), timeTlv(terms.notAfterMs)),
    nameTlv(terms.subject),
    spkiOf(key),
    tlv(0xa3, tlv(0x30, ...extensions)),
  )
  const signature = sign('sha256', tbs, issuer.key)
  const der = tlv(0x30, tbs, algorithm, tlv(0x03, Uint8Array.of(0), signature))
  return { certificate: readCertificate(der), key }
}

/** 16 random octets, positive and without a leading zero. RFC 5280 §4.1.2.2. */
function newSerial(): Uint8Array {
  const serial = randomBytes(16)
  serial[0] = ((serial[0] ?? 0) & 0x3f) | 0x40
  return serial
}

function spkiOf(key: KeyObject): Uint8Array {
  const isPublic = key.type === 'public'
  return (isPublic ? key : createPublicKey(key)).export({ format: 'der', type: 'spki' })
}

/** SHA-1 of the public key's bits. RFC 5280 §4.2.1.2 (1). */
function subjectKeyTlv(key: KeyObject): Uint8Array {
  const bits = readOne(spkiOf(key)).children()[1]?.value.subarray(1) ?? new Uint8Array(0)
  const id = createHash('sha1').update(bits).digest()
  return extensionTlv(EXTENSION.subjectKeyId, false, tlv(0x04, id))
}

function authorityKeyTlv(issuer: Issued): Uint8Array {
  const id = Buffer.from(issuer.certificate.subjectKeyId ?? '', 'hex')
  return extensionTlv(EXTENSION.authorityKeyId, false, tlv(0x30, tlv(0x80, id)))
}
