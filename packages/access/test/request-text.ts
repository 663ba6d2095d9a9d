import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** DER of at most 65,535 octets. */
function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const inner = Buffer.concat(parts)
  const { length } = inner
  const head = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from([tag, ...head]), inner])
}

const ECDSA_SHA256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')))
const COMMON_NAME = der(0x06, Buffer.from('550403', 'hex'))

/** A pair of P-256. */
export function newKey(namedCurve = 'P-256'): KeyObject {
  return generateKeyPairSync('ec', { namedCurve }).privateKey
}

/** The octets of a certificate request for `key`, signed by `signer`. RFC 2986 §4. */
export function requestDer(key: KeyObject, signer: KeyObject = key, name = 'somebody'): Buffer {
  const subject = der(0x30, der(0x31, der(0x30, COMMON_NAME, der(0x0c, Buffer.from(name)))))
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const info = der(0x30, der(0x02, Buffer.from([0])), subject, spki, der(0xa0))
  const signature = sign('sha256', info, signer)
  return der(0x30, info, ECDSA_SHA256, der(0x03, Buffer.from([0]), signature))
}

/** As PEM. */
export function requestPem(octets: Uint8Array): string {
  const lines =
    Buffer.from(octets)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines.join('\n')}\n-----END CERTIFICATE REQUEST-----\n`
}
