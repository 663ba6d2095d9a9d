import 'reflect-metadata'
import { createHash, webcrypto } from 'node:crypto'
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  type JsonGeneralNames,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const
const DAY_MS = 86_400_000

/** A certificate and its key, PEM. */
export interface Issued {
  readonly cert: string
  readonly key: string
  readonly serial: string
}

/** What a leaf says; a client's certificate of a node that is good for a day when nothing is said. */
export interface Leaf {
  readonly names?: JsonGeneralNames
  readonly usages?: readonly string[]
  readonly isCa?: boolean
  readonly notBeforeMs?: number
  readonly notAfterMs?: number
  readonly serial?: string
  readonly more?: readonly Extension[]
}

export interface TestCa {
  readonly pem: string
  readonly sha256: string
  issue(leaf: Leaf): Promise<Issued>
}

let lastSerial = 1

/** A self-signed CA, ECDSA P-256. */
export async function makeCa(name: string): Promise<TestCa> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const subject = `CN=${name}`
  const root = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name: subject,
    notBefore: new Date(Date.now() - DAY_MS * 400),
    notAfter: new Date(Date.now() + DAY_MS * 400),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [new BasicConstraintsExtension(true, undefined, true)],
  })
  const pem = `${root.toString('pem')}\n`
  return {
    pem,
    sha256: createHash('sha256').update(Buffer.from(root.rawData)).digest('hex'),
    issue: async (leaf) => {
      const own = await webcrypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
      lastSerial += 1
      const serial = leaf.serial ?? `5a${lastSerial.toString(16).padStart(4, '0')}`
      const usages = leaf.usages ?? [ExtendedKeyUsage.clientAuth]
      const certificate = await X509CertificateGenerator.create({
        serialNumber: serial,
        subject: 'CN=leaf',
        issuer: subject,
        notBefore: new Date(leaf.notBeforeMs ?? Date.now() - DAY_MS),
        notAfter: new Date(leaf.notAfterMs ?? Date.now() + DAY_MS),
        signingAlgorithm: ALGORITHM,
        publicKey: own.publicKey,
        signingKey: keys.privateKey,
        extensions: [
          new BasicConstraintsExtension(leaf.isCa === true, undefined, true),
          ...(usages.length === 0 ? [] : [new ExtendedKeyUsageExtension([...usages])]),
          ...(leaf.names?.length === 0
            ? []
            : [new SubjectAlternativeNameExtension(leaf.names ?? [NODE_NAME])]),
          ...(leaf.more ?? []),
        ],
      })
      const pkcs8 = await webcrypto.subtle.exportKey('pkcs8', own.privateKey)
      return {
        cert: `${new X509Certificate(certificate.rawData).toString('pem')}\n`,
        key: PemConverter.encode(pkcs8, 'PRIVATE KEY'),
        serial,
      }
    },
  }
}

/** The node of certificates that name no other. */
export const NODE_ID = '11111111-2222-4333-8444-555555555555'
const NODE_NAME = { type: 'url', value: `svc://node/${NODE_ID}` } as const
