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
const OID_BASIC_CONSTRAINTS = Buffer.from('0603551d13', 'hex')

/** How a request differs from an honest one. */
export interface RequestWish {
  readonly commonName?: string
  readonly isCa?: boolean
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
  const ca = der(0x30, Buffer.from([0x01, 0x01, 0xff]))
  const extension = der(0x30, OID_BASIC_CONSTRAINTS, Buffer.from([0x01, 0x01, 0xff]), der(0x04, ca))
  const attributes =
    wish.isCa === true ? der(0x30, OID_EXTENSIONS, der(0x31, der(0x30, extension))) : Buffer.alloc(0)
  const info = der(0x30, Buffer.from([0x02, 0x01, 0x00]), subject, spki, der(0xa0, attributes))
  const signature = sign('sha256', info, wish.signer ?? privateKey)
  const algorithm = privateKey.asymmetricKeyType === 'rsa' ? RSA_SHA256 : ECDSA_SHA256
  return pemOf(der(0x30, info, algorithm, der(0x03, Buffer.from([0]), signature)))
}

/** The octets of a request as text. */
export function pemOf(octets: Uint8Array): string {
  const lines =
    Buffer.from(octets)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`
}
