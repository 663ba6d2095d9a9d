import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'

/** DER, X.690: made here by hand, so that requests can be wrong in every way. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts)
  const { length } = body
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), body])
  const octets = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | octets.length]), octets, body])
}

const ECDSA_SHA256 = Buffer.from('300a06082a8648ce3d040302', 'hex')
const RSA_SHA256 = Buffer.from('300d06092a864886f70d01010b0500', 'hex')
const OID_CN = Buffer.from('0603550403', 'hex')
/** PKCS#9 extensionRequest. */
const OID_EXTENSIONS = Buffer.from('06092a864886f70d01090e', 'hex')
/** The same of Microsoft's tools. */
const OID_MS_EXTENSIONS = Buffer.from('060a2b06010401823702010e', 'hex')
const OID_KEY_USAGE = Buffer.from('0603551d0f', 'hex')
const OID_ALTERNATIVE_NAME = Buffer.from('0603551d11', 'hex')
const OID_BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex')

/** How a request differs from an honest one. */
export interface RequestWish {
  readonly commonName?: string
  readonly isCa?: boolean
  /** keyUsage: keyCertSign. */
  readonly signsOthers?: boolean
  /** subjectAltName: host names, URIs (with a colon) and IPv4 addresses. */
  readonly names?: readonly string[]
  /** Asked for under Microsoft's OID. */
  readonly isMicrosoft?: boolean
  /** Signed by this one in place of the key that it is for. */
  readonly signer?: KeyObject
  /** Octets of padding in the subject. */
  readonly padding?: number
}

/** A certificate request (PKCS#10, RFC 2986), PEM. */
export function csrOf(key: string | KeyObject, wish: RequestWish = {}): string {
  const privateKey = typeof key === 'string' ? createPrivateKey(key) : key
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const name = `${wish.commonName ?? 'box'}${'x'.repeat(wish.padding ?? 0)}`
  const subject = der(0x30, der(0x31, der(0x30, OID_CN, der(0x0c, Buffer.from(name)))))
  const info = der(0x30, Buffer.from([0x02, 0x01, 0x00]), subject, spki, der(0xa0, attributesOf(wish)))
  const signature = sign('sha256', info, wish.signer ?? privateKey)
  const algorithm = privateKey.asymmetricKeyType === 'rsa' ? RSA_SHA256 : ECDSA_SHA256
  return pemOf(der(0x30, info, algorithm, der(0x03, Buffer.from([0]), signature)))
}

function attributesOf({ isCa, signsOthers, names, isMicrosoft }: RequestWish): Buffer {
  const critical = Buffer.from([0x01, 0x01, 0xff])
  const extensions = [
    ...(isCa === true ? [der(0x30, OID_BASIC_CONSTRAINTS, critical, der(0x04, der(0x30, critical)))] : []),
    // Bit 5 of a BIT STRING. RFC 5280 §4.2.1.3.
    ...(signsOthers === true
      ? [der(0x30, OID_KEY_USAGE, critical, der(0x04, Buffer.from([0x03, 0x02, 0x02, 0x04])))]
      : []),
    ...(names === undefined
      ? []
      : [der(0x30, OID_ALTERNATIVE_NAME, der(0x04, der(0x30, ...names.map(generalName))))]),
  ]
  if (extensions.length === 0) return Buffer.alloc(0)
  const oid = isMicrosoft === true ? OID_MS_EXTENSIONS : OID_EXTENSIONS
  return der(0x30, oid, der(0x31, der(0x30, ...extensions)))
}

/** RFC 5280 §4.2.1.6: [2] dNSName, [6] uniformResourceIdentifier, [7] iPAddress. */
function generalName(name: string): Buffer {
  if (/^[0-9.]+$/.test(name)) return der(0x87, Buffer.from(name.split('.').map(Number)))
  return der(name.includes(':') ? 0x86 : 0x82, Buffer.from(name))
}

/** The octets of a request as text. */
export function pemOf(octets: Uint8Array): string {
  const lines =
    Buffer.from(octets)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`
}
