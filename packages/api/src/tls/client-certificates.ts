import { createHash, hash, X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import {
  type AuthenticatedPrincipal,
  type CertificateHolders,
  type ClientCertificate,
  certificateRevoked,
  isServiceError,
  nodeCertificatesRef,
  operatorCertificatesRef,
  type Principal,
  type ServiceRef,
  serialOf,
  unauthenticated,
} from '@steeple/contracts'
import type { EdgeKernel } from '../edge-kernel.ts'
import type { EdgeTls } from '../edge-options.ts'

/** Whom a certificate stands for: a box, or a person of this box. */
type HolderKind = 'node' | 'cli'

/** A CA whose client certificates are believed, and for whom alone. */
interface TrustedCa {
  readonly certificate: X509Certificate
  /** SHA-256 of its DER, 64 hexadecimal digits. */
  readonly sha256: string
  readonly kinds: readonly HolderKind[]
}

/** What a client certificate says, its chain and usage checked. Its times are the asker's to compare. */
interface Judged {
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
      serial: serialOf(presented),
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

/** Who answers for certificates of a kind. */
const HOLDERS: Readonly<Record<HolderKind, ServiceRef<CertificateHolders>>> = {
  node: nodeCertificatesRef,
  cli: operatorCertificatesRef,
}

/** The certificates that clients have presented on open connections. */
export interface ClientCertificates {
  /** A handshake is done: the connection is remembered when its client has presented a certificate. */
  connected(socket: TLSSocket): void
  /**
   * Who presented a certificate on this connection; undefined when nobody did. Nothing of the answer is remembered.
   * Throws `certificate_revoked` (or expired), `unauthenticated` for one that is not believed.
   */
  principalOf(socket: Socket): Promise<Principal> | undefined
  /** Whether a certificate was refused on this connection: its next answer ends it. */
  isRefused(socket: Socket): boolean
  /** The connections whose certificates are not believed any more. Those of which nobody could say stay. */
  fallen(): Promise<readonly TLSSocket[]>
}

/** Certificates found good that are remembered; whose they are is asked all the same. */
const MOST_GOOD = 1_000

/** Whom this listener believes, and what it has found good under that. */
interface Trust {
  readonly nodesCa: string
  readonly operatorsCa: string
  readonly cas: readonly TrustedCa[]
  readonly good: Map<string, Judged>
}

interface Presented {
  readonly trust: Trust
  readonly judged: Judged | { readonly problem: string }
}

/** What clients present on the connections of one listener. Without `tls` there is nothing to present. */
export function createClientCertificates(kernel: EdgeKernel, tls: EdgeTls | undefined): ClientCertificates {
  const open = new Set<TLSSocket>()
  const known = new WeakMap<TLSSocket, Presented>()
  const refusedOn = new WeakSet<Socket>()
  let trust: Trust | undefined
  const trusted = (of: EdgeTls): Trust => {
    const { nodesCa, operatorsCa } = of.material()
    // Each by itself: they are the same texts at each request, and equal without being read.
    if (trust?.nodesCa !== nodesCa || trust.operatorsCa !== operatorsCa)
      trust = { nodesCa, operatorsCa, cas: trustedCas(nodesCa, operatorsCa), good: new Map() }
    return trust
  }
  const judge = (socket: TLSSocket, of: EdgeTls): Presented['judged'] => {
    const now = trusted(of)
    const before = known.get(socket)
    if (before?.trust === now) return before.judged
    const certificate = socket.getPeerX509Certificate()
    const judged =
      certificate === undefined
        ? { problem: 'it is gone with its connection' }
        : judgeOnce(certificate, handshakeProblem(socket), now)
    known.set(socket, { trust: now, judged })
    return judged
  }
  const ask = async (socket: TLSSocket, of: EdgeTls): Promise<Principal> => {
    try {
      return await principalFrom(kernel, judge(socket, of))
    } catch (error) {
      if (isRefusal(error)) refusedOn.add(socket)
      throw error
    }
  }
  return {
    connected: (socket) => {
      if (socket.getPeerX509Certificate() === undefined) return
      open.add(socket)
      socket.once('close', () => open.delete(socket))
    },
    principalOf: (socket) =>
      tls !== undefined && socket instanceof TLSSocket && open.has(socket) ? ask(socket, tls) : undefined,
    isRefused: (socket) => refusedOn.has(socket),
    fallen: async () => {
      const found: TLSSocket[] = []
      if (tls === undefined) return found
      for (const socket of [...open])
        if (await ask(socket, tls).then(() => false, isRefusal)) found.push(socket)
      return found
    },
  }
}

/** A client that comes again and again costs no signature but that of the handshake. */
function judgeOnce(
  certificate: X509Certificate,
  handshake: string | undefined,
  { cas, good }: Trust,
): Judged | { readonly problem: string } {
  const key = `${hash('sha256', certificate.raw)} ${handshake ?? ''}`
  const before = good.get(key)
  if (before !== undefined) return before
  const judged = judgeCertificate(certificate, handshake, cas)
  if ('problem' in judged) return judged
  if (good.size >= MOST_GOOD) good.clear()
  good.set(key, judged)
  return judged
}

/** Asks whoever answers for that kind. Times are compared with the service's own clock. */
async function principalFrom(
  kernel: EdgeKernel,
  judged: Judged | { readonly problem: string },
): Promise<Principal> {
  if ('problem' in judged) throw refused(judged.problem)
  const { kind, certificate, notBeforeMs } = judged
  const nowMs = kernel.clock.nowMs()
  if (nowMs < notBeforeMs) throw refused('it is not valid yet; check the clocks')
  if (nowMs >= certificate.notAfterMs) throw certificateRevoked()
  const holder = await kernel.service(HOLDERS[kind])?.holderOf(certificate)
  if (holder === undefined || !standsFor(holder, kind, certificate.name))
    throw refused('nobody here knows it')
  const expiresAtMs = Math.min(holder.expiresAtMs ?? certificate.notAfterMs, certificate.notAfterMs)
  return { ...holder, expiresAtMs }
}

/** A node is itself and nobody else, and no operator's certificate makes a node. */
function standsFor(holder: AuthenticatedPrincipal, kind: HolderKind, name: string): boolean {
  if (holder.kind !== kind) return false
  return kind === 'node'
    ? holder.id === name && holder.roles.size === 1 && holder.roles.has('node')
    : !holder.roles.has('node')
}

function refused(problem: string): Error {
  return unauthenticated(`the client certificate is refused: ${problem}`)
}

/** A store that does not answer for a moment has refused nothing. */
function isRefusal(error: unknown): boolean {
  return isServiceError(error) && error.status === unauthenticated.status
}

/** As openssl names it; node types it as an error and gives the name. */
function handshakeProblem(socket: TLSSocket): string | undefined {
  if (socket.authorized) return undefined
  const problem: unknown = socket.authorizationError
  return problem instanceof Error ? problem.message : String(problem)
}
