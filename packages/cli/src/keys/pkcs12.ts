import { createHash, createHmac, type KeyObject, randomBytes, X509Certificate } from 'node:crypto'
import { der, integer, NULL, objectId, octetString, sequence, setOf, tagged } from './der.ts'

/** What a browser imports: a key, its certificate, and the CA above it. */
export interface Pkcs12Content {
  readonly privateKey: KeyObject
  /** PEM. */
  readonly certificate: string
  /** PEM. */
  readonly ca: string
  /** What people see in the browser's list. */
  readonly name: string
}

const DATA = objectId('1.2.840.113549.1.7.1')
const SHROUDED_KEY_BAG = objectId('1.2.840.113549.1.12.10.1.2')
const CERTIFICATE_BAG = objectId('1.2.840.113549.1.12.10.1.3')
const X509_CERTIFICATE = objectId('1.2.840.113549.1.9.22.1')
const FRIENDLY_NAME = objectId('1.2.840.113549.1.9.20')
const LOCAL_KEY_ID = objectId('1.2.840.113549.1.9.21')
const SHA256 = sequence(objectId('2.16.840.1.101.3.4.2.1'), NULL)
const BMP_STRING = 0x1e
/** RFC 7292 §4: version of the PFX. */
const VERSION = 3
/** Of the passphrase for the checksum. The passphrase is drawn at random: there is nothing to slow a guess down for. */
const ROUNDS = 10_000
const SALT_BYTES = 16
/** RFC 7292 §B.3: the purpose of what is derived, a MAC; the length of SHA-256's blocks and output. */
const MAC_PURPOSE = 3
const BLOCK_BYTES = 64
const HASH_BYTES = 32

/**
 * A PKCS #12 archive, as browsers and systems import it: the key under AES-256 (PBES2), certificates readable, all of it
 * under a checksum by SHA-256. OpenSSL 1.1, Firefox, Windows 10 and later, macOS 15 and later take these.
 *
 * Source: RFC 7292 §4, §5; RFC 9579 is newer than what systems read.
 */
export function pkcs12(content: Pkcs12Content, passphrase: string): Buffer {
  const certificate = new X509Certificate(content.certificate)
  const keyId = createHash('sha256').update(certificate.raw).digest()
  const shown = attributes(content.name, keyId)
  const shrouded = content.privateKey.export({
    format: 'der',
    type: 'pkcs8',
    cipher: 'aes-256-cbc',
    passphrase,
  })
  const keys = sequence(sequence(SHROUDED_KEY_BAG, tagged(0, shrouded), shown))
  const ca = new X509Certificate(content.ca)
  const certificates = sequence(certificateBag(certificate, shown), certificateBag(ca))
  const safe = sequence(data(certificates), data(keys))
  return sequence(integer(VERSION), data(safe), checksum(safe, passphrase))
}

function data(content: Uint8Array): Buffer {
  return sequence(DATA, tagged(0, octetString(content)))
}

function certificateBag(certificate: X509Certificate, shown?: Buffer): Buffer {
  const bag = sequence(X509_CERTIFICATE, tagged(0, octetString(certificate.raw)))
  return sequence(CERTIFICATE_BAG, tagged(0, bag), ...(shown === undefined ? [] : [shown]))
}

function attributes(name: string, keyId: Uint8Array): Buffer {
  return setOf(
    sequence(FRIENDLY_NAME, setOf(der(BMP_STRING, bigEndian16(name)))),
    sequence(LOCAL_KEY_ID, setOf(octetString(keyId))),
  )
}

function checksum(safe: Uint8Array, passphrase: string): Buffer {
  const salt = randomBytes(SALT_BYTES)
  const mac = createHmac('sha256', macKey(passphrase, salt)).update(safe).digest()
  return sequence(sequence(SHA256, octetString(mac)), octetString(salt), integer(ROUNDS))
}

/** RFC 7292 §B.2, for one output of the hash, which is all that a MAC by SHA-256 needs. */
function macKey(passphrase: string, salt: Uint8Array): Buffer {
  const purpose = Buffer.alloc(BLOCK_BYTES, MAC_PURPOSE)
  // §B.1: with a terminating zero.
  const password = bigEndian16(`${passphrase}\0`)
  let key = createHash('sha256').update(purpose).update(filled(salt)).update(filled(password)).digest()
  for (let round = 1; round < ROUNDS; round += 1) key = createHash('sha256').update(key).digest()
  return key.subarray(0, HASH_BYTES)
}

/** Repeated until it fills whole blocks. */
function filled(octets: Uint8Array): Buffer {
  return Buffer.alloc(Math.ceil(octets.length / BLOCK_BYTES) * BLOCK_BYTES, octets)
}

/** A BMPString's content. X.690 §8.23.8. */
function bigEndian16(text: string): Buffer {
  return Buffer.from(text, 'utf16le').swap16()
}
