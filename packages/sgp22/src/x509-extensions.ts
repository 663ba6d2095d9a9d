import { oidText } from './oid.ts'
import { readOne, type Tlv } from './tlv.ts'
import { X509Error } from './x509-error.ts'
import { type DistinguishedName, readName } from './x509-name.ts'

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
export interface Extensions {
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
    into.subjectKeyId = hex(expected(value, 0x04, 'subjectKeyIdentifier').value)
  },
  [EXTENSION.keyUsage]: (value, into) => {
    into.keyUsage = keyUsages(expected(value, 0x03, 'keyUsage').value)
  },
  [EXTENSION.subjectAltName]: readAlternativeNames,
  [EXTENSION.basicConstraints]: readBasicConstraints,
  [EXTENSION.nameConstraints]: (value, into) => {
    into.permittedNames = permittedNames(expected(value, 0x30, 'nameConstraints'))
  },
  [EXTENSION.crlDistributionPoints]: () => undefined,
  [EXTENSION.policies]: (value, into) => {
    into.policies = expected(value, 0x30, 'certificatePolicies')
      .children()
      .map((policy) => oidOf(policy.children()[0]))
  },
  [EXTENSION.authorityKeyId]: (value, into) => {
    const id = expected(value, 0x30, 'authorityKeyIdentifier')
      .children()
      .find(({ tag }) => tag === 0x80)
    into.authorityKeyId = id === undefined ? undefined : hex(id.value)
  },
  [EXTENSION.extendedKeyUsage]: () => undefined,
  [EXTENSION.permittedEins]: (value, into) => {
    into.permittedEins = expected(value, 0x30, 'permittedEins').children().map(einOf)
  },
}

/** Reads the `Extensions` of a certificate. Throws `X509Error` (a critical one that is not known, one twice), `TlvError`. */
export function readExtensions(list: Tlv | undefined): Extensions {
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

function partsOf(extension: Tlv): { oid: string; isCritical: boolean; value: Uint8Array } {
  const parts = extension.children()
  const [id, second] = parts
  const value = parts.at(-1)
  if (id === undefined || value?.tag !== 0x04 || parts.length > 3)
    throw new X509Error('has an extension that cannot be read')
  const isCritical = second?.tag === 0x01 && second.value[0] !== 0
  return { oid: oidOf(id), isCritical, value: value.value }
}

function readBasicConstraints(value: Tlv, into: Mutable): void {
  const [first, second] = expected(value, 0x30, 'basicConstraints').children()
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
  const names = expected(value, 0x30, 'subjectAltName').children()
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

function expected(tlv: Tlv, tag: number, what: string): Tlv {
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
