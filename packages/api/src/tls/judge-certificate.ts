import { createHash, X509Certificate } from 'node:crypto'
import type { ClientCertificate } from '@steeple/contracts'

/** Whom a certificate stands for: a box, or a person of this box. */
export type HolderKind = 'node' | 'cli'

/** A CA whose client certificates are believed, and for whom alone. */
export interface TrustedCa {
  readonly certificate: X509Certificate
  /** SHA-256 of its DER, 64 hexadecimal digits. */
  readonly sha256: string
  readonly kinds: readonly HolderKind[]
}

/** What a client certificate says, its chain and usage checked. Its times are the asker's to compare. */
export interface Judged {
  readonly kind: HolderKind
  readonly certificate: ClientCertificate
  readonly notBeforeMs: number
}

/** id-kp-clientAuth, RFC 5280 §4.2.1.12. */
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
/** One general name as node writes it: what could be taken for two is quoted. */
const GENERAL_NAME = /(?:^|, )([A-Za-z][A-Za-z ]*):("(?:[^"\\]|\\.)*"|[^,"]*)(?=, |$)/gy
const HOLDER = /^svc:\/\/(node|cli)\/([\x21\x23-\x2b\x2d-\x2e\x30-\x3e\x40-\x7e]{1,255})$/
/** What openssl says of the times of a certificate: they are compared at each request instead, by the service's clock. */
const TIMES: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])

/** The trusted CAs of PEM texts. One that is given for both kinds is one CA. */
export function trustedCas(nodes: string, operators: string): readonly TrustedCa[] {
  const ofNodes = caOf(nodes, ['node'])
  const ofOperators = caOf(operators, ['cli'])
  return ofNodes.sha256 === ofOperators.sha256
    ? [{ ...ofNodes, kinds: ['node', 'cli'] }]
    : [ofNodes, ofOperators]
}

function caOf(pem: string, kinds: readonly HolderKind[]): TrustedCa {
  const certificate = new X509Certificate(pem)
  return { certificate, sha256: createHash('sha256').update(certificate.raw).digest('hex'), kinds }
}

/**
 * What the certificate says, or why it is not believed: issued directly by a trusted CA, for a client, naming one holder
 * of a kind that this CA may name.
 *
 * `handshake`: what openssl found wrong with it, undefined for nothing. It has the last word on whatever is not looked at
 * here (critical extensions, key usage, algorithms). RFC 5280 §6.1.
 */
export function judgeCertificate(
  presented: X509Certificate,
  handshake: string | undefined,
  trusted: readonly TrustedCa[],
): Judged | { readonly problem: string } {
  const holder = holderOf(presented.subjectAltName)
  if (presented.ca) return { problem: 'it is the certificate of a CA' }
  if (!hasUsage(presented, CLIENT_AUTH)) return { problem: 'it is not for clients (no clientAuth usage)' }
  if (holder === undefined) return { problem: 'it names no holder, or several (one URI svc://…)' }
  const ca = trusted.find(
    ({ certificate }) => presented.checkIssued(certificate) && presented.verify(certificate.publicKey),
  )
  if (ca === undefined) return { problem: 'it is from a CA that is not believed here' }
  if (!ca.kinds.includes(holder.kind))
    return { problem: `it is from a CA that may not name holders of svc://${holder.kind}/` }
  if (handshake !== undefined && !TIMES.has(handshake))
    return { problem: `the handshake did not prove it (${handshake})` }
  return {
    kind: holder.kind,
    notBeforeMs: Date.parse(presented.validFrom),
    certificate: {
      serial: presented.serialNumber.toLowerCase().replace(/^0+(?=.)/, ''),
      name: holder.name,
      caSha256: ca.sha256,
      notAfterMs: Date.parse(presented.validTo),
    },
  }
}

/** Node calls the extended key usage `keyUsage`; a certificate without one is for nothing here. */
function hasUsage(certificate: X509Certificate, usage: string): boolean {
  // Typed as always there, and undefined without the extension.
  const usages = certificate.keyUsage as readonly string[] | undefined
  return usages?.includes(usage) === true
}

/** The one `svc://` URI among the alternative names; undefined when there is none, several, or one that is odd. */
function holderOf(
  names: string | undefined,
): { readonly kind: HolderKind; readonly name: string } | undefined {
  const uris = urisOf(names ?? '')?.filter((uri) => /^"?svc:/i.test(uri))
  const [kind, name] = uris?.length === 1 ? (HOLDER.exec(uris[0] ?? '')?.slice(1) ?? []) : []
  // The expression lets no other kind through.
  return kind === undefined || name === undefined ? undefined : { kind: kind as HolderKind, name }
}

/** Undefined when not all of the text could be read. */
function urisOf(names: string): readonly string[] | undefined {
  const found = [...names.matchAll(GENERAL_NAME)]
  const length = found.reduce((sum, [whole]) => sum + whole.length, 0)
  return length === names.length
    ? found.filter(([, type]) => type === 'URI').map(([, , value]) => value ?? '')
    : undefined
}
