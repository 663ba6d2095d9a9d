import {
  createHash,
  createHmac,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  X509Certificate,
} from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { AnswerOf } from '@steeple/client'
import { certificateRequest } from '@steeple/secrets'
import { baseUrl, type ConnectionOptions } from '../client/credentials.ts'
import { IDENTITY_FILES, identityFolder } from '../client/identity.ts'
import { connect, type Json, type Service } from '../client/service.ts'
import { failure } from '../command-error.ts'
import { jsonText } from '../output/print.ts'
import { fields } from '../output/table.ts'
import { writeSecret } from '../output/write-secret.ts'
import type { Terminal } from '../terminal.ts'

/** Writes DER. ITU-T X.690 §8, §10. */

/** One element: its tag octet, its length and what it holds. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const inner = Buffer.concat(content)
  const length = inner.length
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), inner])
  const hex = length.toString(16)
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | octets.length]), octets, inner])
}

const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content)
const setOf = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content)
const octetString = (content: Uint8Array): Buffer => der(0x04, content)
/** Constructed and specific to its context. */
const tagged = (number: number, ...content: readonly Uint8Array[]): Buffer => der(0xa0 | number, ...content)
const NULL: Buffer = der(0x05)

/** A whole number from 0 on. */
function integer(value: number): Buffer {
  const hex = value.toString(16)
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return der(0x02, (octets[0] ?? 0) < 0x80 ? octets : Buffer.concat([Buffer.from([0]), octets]))
}

/** An object identifier as people write it: `1.2.840.113549`. */
function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number)
  return der(0x06, Buffer.from([40 * first + second, ...others.flatMap(base128)]))
}

function base128(value: number): number[] {
  const septets = [value & 0x7f]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    septets.unshift(0x80 | (rest & 0x7f))
  return septets
}

/** What a browser imports: a key, its certificate, and the CA above it. */
interface Pkcs12Content {
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

/** 120 bits: nobody guesses the passphrase of an archive that was copied. */
const PASSPHRASE_BYTES = 15

/** Options of `svc user cert`. */
export interface CertOptions extends ConnectionOptions {
  readonly label?: string
  readonly expiresIn?: string
  readonly out?: string
  readonly p12?: boolean
  readonly use?: boolean
}

/**
 * `svc user cert add NAME`: makes a key here, has the service sign it, and writes both with modes 0600: `NAME.pem`, `NAME.key`,
 * `NAME-ca.pem`; `NAME.p12` with `--p12`; into the place where commands look with `--use`.
 *
 * The key leaves this process for those files alone.
 */
export async function makeCertificate(
  terminal: Terminal,
  name: string,
  options: CertOptions,
  idOf: (service: Service) => Promise<string>,
): Promise<void> {
  const folder = options.use === true ? ownFolder(terminal) : resolve(terminal.cwd, options.out ?? '.')
  await makeFolder(folder)
  const service = connect(terminal, options)
  const path = { id: await idOf(service) }
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const keyPem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const { data: body } = await service.post('/v1/users/{id}/certificates', {
    path,
    body: {
      csr_pem: await certificateRequest(keyPem, name),
      label: options.label,
      expires_in: options.expiresIn,
    },
  })
  const files = options.use === true ? inPlace(folder) : named(folder, body.name)
  await writeSecret(files.key, keyPem)
  await writeSecret(files.cert, body.certificate_pem)
  await writeSecret(files.ca, body.ca_pem)
  if (options.use === true) {
    const { data: status } = await service.get('/v1/status')
    const box = { url: baseUrl(terminal, options).origin, node_id: status.node_id }
    await writeSecret(join(folder, IDENTITY_FILES.box), jsonText(box))
  }
  const passphrase = options.p12 === true ? await writeArchive(files.p12, privateKey, body) : undefined
  tell(terminal, options, body, { ...files, passphrase })
}

type Signed = AnswerOf<'POST', '/v1/users/{id}/certificates'>

interface Files {
  readonly cert: string
  readonly key: string
  readonly ca: string
  readonly p12: string
}

function named(folder: string, name: string): Files {
  const at = join(folder, name)
  return { cert: `${at}.pem`, key: `${at}.key`, ca: `${at}-ca.pem`, p12: `${at}.p12` }
}

function inPlace(folder: string): Files {
  const at = (file: string): string => join(folder, file)
  const { cert, key, ca } = IDENTITY_FILES
  return { cert: at(cert), key: at(key), ca: at(ca), p12: at('browser.p12') }
}

function ownFolder(terminal: Terminal): string {
  const folder = identityFolder(terminal)
  if (folder === undefined) throw failure('no_home', 'HOME is not set; give --out DIR in the place of --use')
  return folder
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw failure('cannot_write', `${folder} cannot be made: ${(cause as Error).message}`, { cause })
  }
}

async function writeArchive(file: string, privateKey: KeyObject, body: Signed): Promise<string> {
  const passphrase = randomBytes(PASSPHRASE_BYTES).toString('base64url')
  const content = {
    privateKey,
    certificate: body.certificate_pem,
    ca: body.ca_pem,
    name: `${body.name} (svc)`,
  }
  await writeSecret(file, pkcs12(content, passphrase))
  return passphrase
}

function tell(
  terminal: Terminal,
  options: CertOptions,
  { serial, name, expires_at }: Json,
  made: Files & { readonly passphrase: string | undefined },
): void {
  const archive = made.passphrase === undefined ? {} : { p12_file: made.p12, passphrase: made.passphrase }
  const shown = {
    name,
    serial,
    expires_at,
    cert_file: made.cert,
    key_file: made.key,
    ca_file: made.ca,
    ...archive,
  }
  terminal.out(options.json === true ? jsonText(shown) : fields(shown))
  if (made.passphrase !== undefined)
    terminal.err('The passphrase of the .p12 is shown once. Keep it until the browser has taken the file.\n')
}
