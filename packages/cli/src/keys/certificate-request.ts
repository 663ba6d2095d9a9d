import { createPublicKey, type KeyObject, sign } from 'node:crypto'
import { der, integer, objectId, pem, sequence, setOf, tagged } from './der.ts'

const COMMON_NAME = objectId('2.5.4.3')
const ECDSA_SHA256 = sequence(objectId('1.2.840.10045.4.3.2'))
const UTF8_STRING = 0x0c
const BIT_STRING = 0x03

/**
 * A certificate request, PEM, signed by the key that it is for: ECDSA over P-256. What the certificate will say is the
 * service's to decide; the name is there for people who look at the request.
 *
 * Source: RFC 2986 §4.
 */
export function certificateRequest(privateKey: KeyObject, name: string): string {
  const subject = sequence(setOf(sequence(COMMON_NAME, der(UTF8_STRING, Buffer.from(name)))))
  const spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
  const info = sequence(integer(0), subject, spki, tagged(0))
  const signature = sign('sha256', info, privateKey)
  return pem(
    'CERTIFICATE REQUEST',
    sequence(info, ECDSA_SHA256, der(BIT_STRING, Buffer.from([0]), signature)),
  )
}
