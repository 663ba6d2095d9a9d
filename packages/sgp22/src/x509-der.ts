import { isIP } from 'node:net'
import { oidOctets } from './oid.ts'
import { tlv } from './tlv.ts'
import { X509Error } from './x509-error.ts'
import { EXTENSION, KEY_USAGES, type KeyUsage } from './x509-extensions.ts'
import { ATTRIBUTE } from './x509-name.ts'

/** Attributes of a name that is to be written; written in this order. */
export interface NameParts {
  readonly country?: string
  readonly organization?: string
  readonly unit?: string
  readonly serialNumber?: string
  readonly commonName?: string
}

const utf8 = new TextEncoder()
const NULLISH = new Uint8Array(0)

/** An object identifier, `06…`. Throws `X509Error`. */
export function oidTlv(dotted: string, tag = 0x06): Uint8Array {
  const octets = oidOctets(dotted)
  if (octets === undefined) throw new X509Error(`${dotted} is no object identifier`)
  return tlv(tag, octets)
}

/** A name. C and serialNumber are PrintableString (X.520 asks for it), the others UTF8String. */
export function nameTlv(parts: NameParts): Uint8Array {
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
export function keyUsageTlv(usages: readonly KeyUsage[]): Uint8Array {
  const octet = usages.reduce((bits, usage) => bits | (0x80 >> KEY_USAGES.indexOf(usage)), 0)
  const unused = 31 - Math.clz32(octet & -octet)
  return extensionTlv(EXTENSION.keyUsage, true, tlv(0x03, Uint8Array.of(unused, octet)))
}

/** Host names (or addresses) and the registered id of an owner. */
export function alternativeNameTlv(hosts: readonly string[], registeredId: string | undefined): Uint8Array {
  const names = hosts.map((host) =>
    isIP(host) === 0 ? tlv(0x82, utf8.encode(host)) : tlv(0x87, addressOctets(host)),
  )
  const id = registeredId === undefined ? [] : [oidTlv(registeredId, 0x88)]
  return extensionTlv(EXTENSION.subjectAltName, false, tlv(0x30, ...names, ...id))
}

/** Authority constraints, critical. */
export function basicConstraintsTlv(pathLength: number | undefined): Uint8Array {
  const length = pathLength === undefined ? NULLISH : tlv(0x02, Uint8Array.of(pathLength))
  return extensionTlv(EXTENSION.basicConstraints, true, tlv(0x30, tlv(0x01, Uint8Array.of(0xff)), length))
}

/** One policy. */
export function policyTlv(policy: string, isCritical: boolean): Uint8Array {
  return extensionTlv(EXTENSION.policies, isCritical, tlv(0x30, tlv(0x30, oidTlv(policy))))
}

/** Where revocation lists would be: one distribution point each. */
export function crlTlv(urls: readonly string[]): Uint8Array {
  const points = urls.map((url) => tlv(0x30, tlv(0xa0, tlv(0xa0, tlv(0x86, utf8.encode(url))))))
  return extensionTlv(EXTENSION.crlDistributionPoints, false, tlv(0x30, ...points))
}

/** Names that an authority may give, critical. */
export function nameConstraintsTlv(names: readonly NameParts[]): Uint8Array {
  const subtrees = names.map((name) => tlv(0x30, tlv(0xa4, nameTlv(name))))
  return extensionTlv(EXTENSION.nameConstraints, true, tlv(0x30, tlv(0xa0, ...subtrees)))
}

/** EINs that an EUM of the new variants may give. */
export function permittedEinsTlv(eins: readonly string[]): Uint8Array {
  const list = tlv(0x30, ...eins.map((ein) => tlv(0x13, utf8.encode(ein))))
  return extensionTlv(EXTENSION.permittedEins, false, list)
}

/** TLS server and client. RFC 5280 §4.2.1.12. */
export function tlsUsageTlv(): Uint8Array {
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
