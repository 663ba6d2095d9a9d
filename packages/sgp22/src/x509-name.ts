import { oidText } from './oid.ts'
import type { Tlv } from './tlv.ts'
import { X509Error } from './x509-error.ts'

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
export function readName(tlv: Tlv): DistinguishedName {
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
