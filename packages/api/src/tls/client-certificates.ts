import { hash, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import {
  type AuthenticatedPrincipal,
  type CertificateHolders,
  certificateRevoked,
  isServiceError,
  nodeCertificatesRef,
  operatorCertificatesRef,
  type Principal,
  type ServiceRef,
  unauthenticated,
} from '@steeple/contracts'
import type { EdgeKernel } from '../edge-kernel.ts'
import type { EdgeTls } from '../edge-options.ts'
import {
  type HolderKind,
  type Judged,
  judgeCertificate,
  type TrustedCa,
  trustedCas,
} from './judge-certificate.ts'

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
