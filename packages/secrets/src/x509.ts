import 'reflect-metadata'
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, type webcrypto } from 'node:crypto'
import {
  type Attribute,
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  ExtensionsAttribute,
  IssuerAlternativeNameExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Pkcs10CertificateRequest,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
  X509Crl,
  X509CrlGenerator,
} from '@peculiar/x509'
import { type NodeCredentials, type Revocation, serialOf, validationFailed } from '@steeple/contracts'

/** Certificates, requests and revocation lists. Import it dynamically: it is large and a normal start does not need it. */

const CURVE = { name: 'ECDSA', namedCurve: 'P-256' } as const
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const
/** RFC 5280 §4.1.2.2: at most 20 octets, positive. */
const SERIAL_BYTES = 16

/** What a root certificate says. Times are ms since the epoch; `keyPem` is PKCS#8. */
export interface RootRequest {
  readonly keyPem: string
  readonly commonName: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** What a certificate below the root says. Nothing of it comes from a requester unchecked. */
export interface LeafRequest {
  readonly caKeyPem: string
  readonly caPem: string
  readonly publicKey: KeyObject
  readonly commonName: string
  readonly uri: string
  readonly dnsNames: readonly string[]
  readonly addresses: readonly string[]
  readonly notBeforeMs: number
  readonly notAfterMs: number
}

/** A self-signed root, ECDSA P-256: signs certificates and revocation lists, no intermediate. PEM. */
export async function createRoot(request: RootRequest): Promise<string> {
  const privateKey = createPrivateKey(request.keyPem)
  const publicKey = await cryptoKey(createPublicKey(privateKey), 'verify')
  const name = [{ CN: [request.commonName] }]
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: name,
    issuer: name,
    notBefore: new Date(request.notBeforeMs),
    notAfter: new Date(request.notAfterMs),
    signingAlgorithm: SIGNATURE,
    publicKey,
    signingKey: await cryptoKey(privateKey, 'sign'),
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(publicKey),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

/** A certificate signed by the root: for both ends of TLS, a person's for the client's alone. Never outlives it. PEM. */
export async function issueCertificate(request: LeafRequest): Promise<string> {
  const ca = new X509Certificate(request.caPem)
  const publicKey = await cryptoKey(request.publicKey, 'verify')
  const certificate = await X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [request.commonName] }],
    issuer: ca.subjectName,
    notBefore: new Date(Math.max(request.notBeforeMs, ca.notBefore.getTime())),
    notAfter: new Date(Math.min(request.notAfterMs, ca.notAfter.getTime())),
    signingAlgorithm: SIGNATURE,
    publicKey,
    signingKey: await cryptoKey(createPrivateKey(request.caKeyPem), 'sign'),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension(usagesOf(request.uri)),
      new SubjectAlternativeNameExtension([
        { type: 'url', value: request.uri },
        ...request.dnsNames.map((value) => ({ type: 'dns' as const, value })),
        ...request.addresses.map((value) => ({ type: 'ip' as const, value })),
      ]),
      await SubjectKeyIdentifierExtension.create(publicKey),
      await AuthorityKeyIdentifierExtension.create(await ca.publicKey.export()),
    ],
  })
  return `${certificate.toString('pem')}\n`
}

/** Boxes serve and ask; a person's certificate is never a server's. RFC 5280 §4.2.1.12. */
function usagesOf(uri: string): ExtendedKeyUsage[] {
  const both = [ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]
  return uri.startsWith('svc://cli/') ? [ExtendedKeyUsage.clientAuth] : both
}

function cryptoKey(key: KeyObject, usage: 'sign' | 'verify'): Promise<webcrypto.CryptoKey> {
  const format = key.type === 'private' ? 'pkcs8' : 'spki'
  const der = key.export({ format: 'der', type: format })
  return crypto.subtle.importKey(format, der, CURVE, usage === 'verify', [usage])
}

/** Positive: the first octet is 01 to 7f. */
function serialNumber(): string {
  const bytes = randomBytes(SERIAL_BYTES)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01
  return bytes.toString('hex')
}

/** RFC 2985 §5.4.2, and the same of Microsoft's tools ([MS-WCCE] 2.2.2.7.7.2). */
const EXTENSION_REQUESTS: readonly string[] = ['1.2.840.113549.1.9.14', '1.3.6.1.4.1.311.2.1.14']
/** RFC 5280 §4.2.1.9, §4.2.1.3, §4.2.1.6. */
const BASIC_CONSTRAINTS = '2.5.29.19'
const KEY_USAGE = '2.5.29.15'
const ALTERNATIVE_NAME = '2.5.29.17'
const OF_A_CA = KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign
/** Of a name that is told to whoever asked for it. */
const MOST_SHOWN = 100

/**
 * What a certificate request asks for that nobody honest asks for, in words; undefined when there is nothing of it.
 *
 * Nothing of a request gets into a certificate in any case. `own`: names that its maker has. Throws when it cannot be read.
 */
function wrongWish(request: Pkcs10CertificateRequest, own: readonly string[]): string | undefined {
  const known = new Set(own.map((name) => name.toLowerCase()))
  for (const attribute of request.attributes) {
    if (!EXTENSION_REQUESTS.includes(attribute.type)) continue
    for (const extension of extensionsOf(attribute)) {
      const wrong = wrongExtension(extension, known)
      if (wrong !== undefined) return wrong
    }
  }
  return undefined
}

function extensionsOf(attribute: Attribute): readonly Extension[] {
  // RFC 2985 §5.4.2: single-valued. The library reads the first value alone.
  if (attribute.values.length > 1) throw new Error('two requests for extensions in one attribute')
  return attribute instanceof ExtensionsAttribute
    ? attribute.items
    : new ExtensionsAttribute(attribute.rawData).items
}

function wrongExtension(extension: Extension, known: ReadonlySet<string>): string | undefined {
  if (extension.type === BASIC_CONSTRAINTS) {
    const isCa = new BasicConstraintsExtension(extension.rawData).ca
    return isCa ? 'asks to be a CA (basicConstraints CA:TRUE); leave that out' : undefined
  }
  if (extension.type === KEY_USAGE) {
    const { usages } = new KeyUsagesExtension(extension.rawData)
    return (usages & OF_A_CA) === 0
      ? undefined
      : 'asks to sign for others (keyUsage keyCertSign or cRLSign); leave that out'
  }
  if (extension.type !== ALTERNATIVE_NAME) return undefined
  for (const { type, value } of new SubjectAlternativeNameExtension(extension.rawData).names.items) {
    if ((type === 'dns' || type === 'ip' || type === 'url') && known.has(value.toLowerCase())) continue
    const shown = JSON.stringify(value.slice(0, MOST_SHOWN))
    return `asks for a name that is not its own (subjectAltName ${type} ${shown}); leave that out`
  }
  return undefined
}

/** A request for a P-256 key with a subject and a few names has 500 octets. */
const MAX_REQUEST_CHARS = 4_096
/** A hundred thousand entries; each has some 40 octets, and PEM a third more. */
const MAX_CRL_CHARS = 6_000_000
const REQUEST =
  /^-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END (?:NEW )?CERTIFICATE REQUEST-----\s*$/
const CRL = /^-----BEGIN X509 CRL-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END X509 CRL-----\s*$/
/** RFC 5280 §5.2.3. */
const CRL_NUMBER = '2.5.29.20'
/** RFC 5280 §5.2.2. */
const ISSUER_ALT_NAME = '2.5.29.18'
/** RFC 5480: SubjectPublicKeyInfo of an uncompressed P-256 point begins so, 65 octets follow (04 x y). */
const P256_PREFIX = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d030107034200', 'hex')
const P256_LENGTH = 91

/** A certificate request by that key: PKCS#10, PEM. */
export async function createRequest(keyPem: string, commonName: string): Promise<string> {
  const privateKey = createPrivateKey(keyPem)
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: [{ CN: [commonName] }],
    signingAlgorithm: SIGNATURE,
    keys: {
      privateKey: await cryptoKey(privateKey, 'sign'),
      publicKey: await cryptoKey(createPublicKey(privateKey), 'verify'),
    },
  })
  return `${request.toString('pem')}\n`
}

/**
 * The key of a certificate request whose signature holds (SubjectPublicKeyInfo, DER). Throws `validation_failed`.
 *
 * Size and form come first, then the kind of key, what is asked for, and the signature last: what is refused is refused
 * cheaply. `own`: see `NodeCa.readRequest`.
 */
export async function readRequest(pem: string, own: readonly string[]): Promise<Uint8Array> {
  const base64 = pem.length > MAX_REQUEST_CHARS ? undefined : REQUEST.exec(pem)?.[1]
  if (base64 === undefined)
    throw badRequest(`is no certificate request (PKCS#10, PEM, at most ${MAX_REQUEST_CHARS} characters)`)
  const der = Buffer.from(base64, 'base64')
  // Seen before anything is parsed: in what a P-256 key signs, its own form is there.
  if (der.indexOf(P256_PREFIX) < 0) throw badRequest('is not for an ECDSA key on P-256')
  let request: Pkcs10CertificateRequest
  let key: Uint8Array
  let wrong: string | undefined
  try {
    request = new Pkcs10CertificateRequest(der)
    key = new Uint8Array(request.publicKey.rawData)
    wrong = wrongWish(request, own)
  } catch (cause) {
    throw badRequest('is no certificate request (PKCS#10)', cause)
  }
  if (key.length !== P256_LENGTH || !P256_PREFIX.equals(key.subarray(0, P256_PREFIX.length)))
    throw badRequest('is not for an ECDSA key on P-256')
  if (wrong !== undefined) throw badRequest(wrong)
  if (!(await holds(() => request.verify()))) throw badRequest('has a signature that does not hold')
  return key
}

/** A list of revoked certificates signed by the CA: X.509 CRL version 2, PEM. RFC 5280 §5. */
export async function createCrl(options: {
  readonly caKeyPem: string
  readonly caPem: string
  readonly list: readonly Revocation[]
  readonly number: number
  readonly thisUpdateMs: number
  readonly nextUpdateMs: number
  readonly url?: string
}): Promise<string> {
  const ca = new X509Certificate(options.caPem)
  const crl = await X509CrlGenerator.create({
    issuer: ca.subjectName,
    thisUpdate: new Date(options.thisUpdateMs),
    nextUpdate: new Date(options.nextUpdateMs),
    signingAlgorithm: SIGNATURE,
    signingKey: await cryptoKey(createPrivateKey(options.caKeyPem), 'sign'),
    entries: options.list.map(({ serial, revokedAtMs }) => ({
      serialNumber: serial.length % 2 === 0 ? serial : `0${serial}`,
      revocationDate: new Date(revokedAtMs),
    })),
    extensions: [
      await AuthorityKeyIdentifierExtension.create(await ca.publicKey.export()),
      new Extension(CRL_NUMBER, false, derInteger(options.number)),
      ...(options.url === undefined
        ? []
        : [new IssuerAlternativeNameExtension([{ type: 'url', value: options.url }])]),
    ],
  })
  // RFC 7468 §6: the label that others look for.
  const lines =
    Buffer.from(crl.rawData)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN X509 CRL-----\n${lines.join('\n')}\n-----END X509 CRL-----\n`
}

/** What a CRL of that CA says. Throws `validation_failed` for another form, issuer or signature. */
export async function readCrl(pem: string, caPem: string): ReturnType<NodeCredentials['readRevocations']> {
  const base64 = pem.length > MAX_CRL_CHARS ? undefined : CRL.exec(pem)?.[1]
  if (base64 === undefined) throw badCrl('is none (X.509, PEM)')
  const ca = new X509Certificate(caPem)
  let crl: X509Crl
  try {
    crl = new X509Crl(Buffer.from(base64, 'base64'))
  } catch (cause) {
    throw badCrl('is none (X.509)', cause)
  }
  if (crl.issuer !== ca.subject) throw badCrl('is of another CA')
  const publicKey = await ca.publicKey.export()
  if (!(await holds(() => crl.verify({ publicKey })))) throw badCrl('has a signature that does not hold')
  const number = crl.getExtension(CRL_NUMBER)
  if (number === null) throw badCrl('has no number')
  const url = urlIn(crl)
  return {
    ...(url === undefined ? {} : { url }),
    number: numberFrom(Buffer.from(number.value)),
    list: crl.entries.map((entry) => ({
      serial: serialOf(entry),
      revokedAtMs: entry.revocationDate.getTime(),
    })),
  }
}

/** Where the CA's node says that it answers: what is no `https://host:port` says nothing. */
function urlIn(crl: X509Crl): string | undefined {
  const names = crl.getExtension(ISSUER_ALT_NAME)
  if (names === null) return undefined
  try {
    const { items } = new IssuerAlternativeNameExtension(names.rawData).names
    return items
      .map(({ value }) => value)
      .find((text) => new URL(text).origin === text && /^https:/.test(text))
  } catch {
    return undefined
  }
}

async function holds(verify: () => Promise<boolean>): Promise<boolean> {
  try {
    return await verify()
  } catch {
    // An algorithm that nobody knows.
    return false
  }
}

/** X.690 §8.3: minimal, positive. */
function derInteger(value: number): Uint8Array {
  const hex = value.toString(16)
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  const isNegative = ((octets[0] ?? 0) & 0x80) !== 0
  const body = isNegative ? Buffer.concat([Buffer.from([0]), octets]) : octets
  return Buffer.concat([Buffer.from([0x02, body.length]), body])
}

/** Seven octets are more than any number that was ever given. */
function numberFrom(der: Buffer): number {
  const length = der[1] ?? 0
  if (der[0] !== 0x02 || length === 0 || length > 7 || der.length !== length + 2)
    throw badCrl('has a number that is none')
  return Number.parseInt(der.subarray(2).toString('hex'), 16)
}

function badRequest(what: string, cause?: unknown): Error {
  return validationFailed(`/csr_pem ${what}`, { details: [{ pointer: '/csr_pem', message: what }], cause })
}

function badCrl(what: string, cause?: unknown): Error {
  return validationFailed(`the revocation list ${what}`, { cause })
}
