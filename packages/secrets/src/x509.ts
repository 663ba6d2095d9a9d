import 'reflect-metadata'
import { createPrivateKey, createPublicKey, type KeyObject, randomBytes, type webcrypto } from 'node:crypto'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

/** Everything that issues X.509. Import it dynamically: it is large and a normal start does not need it. */

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
