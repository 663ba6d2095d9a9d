import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import type { PeerCertificate } from 'node:tls'
import { defineError, type ErrorFactory, MESH_SERVER_NAME, type MeshIdentity } from '@steeple/contracts'
import { fingerprintOf, serialOf } from '../certificate.ts'
import type { Members, PublishedWireguard } from '../members.ts'
import type { ConfirmedNode, Suggestion } from '../suggestions.ts'

export const peerUntrusted: ErrorFactory = defineError('peer_untrusted', 409, '%s')

const ANSWER_BOUND_MS = 10_000
/** Octets: a thousand members have some 400,000. */
const ANSWER_LIMIT = 4 * 1024 * 1024

/** As whom this node asks, and what it knows of certificates. */
interface OwnMesh extends Pick<Members, 'isRevoked'> {
  readonly tls: ReturnType<MeshIdentity['tls']>
  /** Of the mesh that this node is in. */
  readonly caPem: string
}

/** What of a member's record is needed. A box tells it that is in the mesh, and it is looked at all the same. */
interface MemberRecord {
  readonly node_id?: unknown
  readonly name?: unknown
  readonly wireguard?: unknown
}

/**
 * Asks a node that was heard of who it is. Nothing but a handshake reaches one that is not below the CA of this mesh, of
 * that node id and with the announced certificate. Throws `peer_untrusted`.
 */
export async function confirmNode(
  suggestion: Suggestion,
  mesh: OwnMesh,
  signal: AbortSignal,
): Promise<ConfirmedNode> {
  const text = await ask(suggestion, mesh, signal)
  const { nodeId } = suggestion
  const member = membersFrom(text).find((one) => one.node_id === nodeId)
  const wireguard = member === undefined ? undefined : wireguardFrom(member)
  if (member === undefined || wireguard === undefined) {
    throw peerUntrusted(
      `${suggestion.name} is in this mesh, but has not told its WireGuard key yet; try again later`,
    )
  }
  return { nodeId, name: typeof member.name === 'string' ? member.name : suggestion.name, wireguard }
}

/** Why a certificate is not what was announced; undefined when it is. Its chain was checked before. */
export function certificateProblem(
  der: Uint8Array,
  { nodeId, fingerprint, name }: Suggestion,
  isRevoked: Members['isRevoked'],
): string | undefined {
  const certificate = new X509Certificate(der)
  if (fingerprintOf(certificate) !== fingerprint) {
    return `${name} shows another certificate than the announced one; compare the fingerprint again`
  }
  if (isRevoked(serialOf(certificate))) return `${name} was put out of this mesh; invite it again`
  const names = (certificate.subjectAltName ?? '').split(', ')
  return names.includes(`URI:svc://node/${nodeId}`)
    ? undefined
    : `the certificate of ${name} is of another node`
}

function ask(
  suggestion: Suggestion,
  { tls: { key, cert }, caPem, isRevoked }: OwnMesh,
  signal: AbortSignal,
): Promise<string> {
  const { address, port, name } = suggestion
  return new Promise((resolve, reject) => {
    const refuse = (why: string): void => reject(peerUntrusted(why))
    const asked = request(
      {
        host: address,
        port,
        path: '/v1/mesh/members',
        agent: false,
        servername: MESH_SERVER_NAME,
        key,
        cert,
        ca: caPem,
        signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_BOUND_MS)]),
        checkServerIdentity: (_host: string, { raw }: PeerCertificate) => {
          const problem = certificateProblem(raw, suggestion, isRevoked)
          return problem === undefined ? undefined : new Error(problem)
        },
      },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (piece: string) => {
          text += piece
          if (text.length > ANSWER_LIMIT) asked.destroy(new Error('its answer has no end'))
        })
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(text)
          else refuse(`${name} answered ${answer.statusCode}; is this node still a member of the mesh?`)
        })
      },
    )
    asked.on('error', ({ message }) => refuse(`${name} at ${address} port ${port}: ${message}`))
    asked.end()
  })
}

function membersFrom(text: string): readonly MemberRecord[] {
  try {
    const { members } = JSON.parse(text) as { readonly members?: unknown }
    return Array.isArray(members) ? members.filter((one) => typeof one === 'object' && one !== null) : []
  } catch {
    return []
  }
}

function wireguardFrom({ wireguard }: MemberRecord): PublishedWireguard | undefined {
  if (typeof wireguard !== 'object' || wireguard === null) return undefined
  const told = wireguard as Readonly<Record<string, unknown>>
  const publicKey = text(told.public_key)
  const listenPort = told.listen_port
  if (publicKey === undefined || typeof listenPort !== 'number') return undefined
  return {
    publicKey,
    nextPublicKey: text(told.next_public_key),
    prepared: texts(told.prepared),
    endpoint: text(told.endpoint),
    listenPort,
    advertised: texts(told.advertised),
    takes: texts(told.takes),
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}
