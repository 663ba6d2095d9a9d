import { X509Certificate } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { EventEmitter } from 'node:events'
import type { PeerCertificate } from 'node:tls'
import {
  BOX_SERVER_NAME,
  type ComponentHealth,
  type Context,
  defineError,
  type ErrorFactory,
  type Instance,
  isRecord,
  jsonIn,
  type NodeCredentials,
  nodeCaRef,
  nodeCredentialsRef,
  nodeIdentityRef,
  nodeIdIn,
  peerNotFound,
  serialOf,
} from '@steeple/contracts'
import { requestOnce } from '@steeple/http-client'
import Bonjour from 'bonjour-service'
import type { PeeringConfig } from '../config.ts'
import { type ApiPlace, apiPlace } from '../enroll/own-names.ts'
import type { Members, PublishedWireguard } from '../members.ts'
import type { ConfirmedNode, Suggestion, Suggestions } from '../suggestions.ts'
import {
  type Announcement,
  type HeardService,
  instanceName,
  SERVICE_TYPE,
  suggestionFrom,
  txtOf,
} from './announcement.ts'

/** Octets: RFC 6762 §17 lets a message be larger; what is announced here fits into one frame of Ethernet. */
const MESSAGE_LIMIT = 1_500
/** Messages that are read at once, and per second on end. A quiet network has a few in a minute. */
const BURST = 200
const PER_S = 40

/** Takes one out of a bucket of `burst` that fills by `perS`; false where there is none. */
export function allowance(burst: number, perS: number): (nowMs: number) => boolean {
  let left = burst
  let atMs = 0
  return (nowMs) => {
    left = Math.min(burst, left + (Math.max(0, nowMs - atMs) / 1_000) * perS)
    atMs = nowMs
    if (left < 1) return false
    left -= 1
    return true
  }
}

/**
 * A UDP socket for the mDNS library, through which a stranger can neither throw in its parser nor keep it busy: what is too
 * large or too much is dropped unread, and what its listeners throw at a message goes no further. `isWrong` is told of faults
 * of the socket itself.
 */
function guardedSocket(nowMs: () => number, isWrong: (error: unknown) => void): EventEmitter {
  const socket = createSocket({ type: 'udp4', reuseAddr: true })
  const inner = new EventEmitter()
  const mayRead = allowance(BURST, PER_S)
  const tell = (event: string, ...args: readonly unknown[]): void => {
    try {
      inner.emit(event, ...args)
    } catch {
      // The library throws at malformed records, and hands on faults that nobody there listens for.
    }
  }
  socket.on('listening', () => tell('listening'))
  socket.on('error', (error) => {
    isWrong(error)
    tell('error', error)
  })
  socket.on('message', (message, from) => {
    if (message.length <= MESSAGE_LIMIT && mayRead(nowMs())) tell('message', message, from)
  })
  // What multicast-dns calls on a socket.
  return Object.assign(inner, {
    bind: (port: number, address: string | undefined, bound: () => void) =>
      socket.bind(port, address, () => bound()),
    send: socket.send.bind(socket),
    close: (closed: () => void) => socket.close(closed),
    address: () => socket.address(),
    addMembership: socket.addMembership.bind(socket),
    dropMembership: socket.dropMembership.bind(socket),
    setMulticastInterface: socket.setMulticastInterface.bind(socket),
    setMulticastLoopback: socket.setMulticastLoopback.bind(socket),
    setMulticastTTL: socket.setMulticastTTL.bind(socket),
  })
}

/** Services that one look may bring: the library keeps all of them, and compares each new one with all. */
const LOOK_LIMIT = 256
/** What a goodbye may take. */
const END_BOUND_MS = 1_000

/** What is heard and said by mDNS. RFC 6762, RFC 6763. */
interface MdnsSocket {
  /** From now on this is announced, in the place of what was; undefined: nothing. */
  announce(announcement: Announcement | undefined): void
  /** Asks who is there. What was heard before comes again from those that are. */
  look(): void
  /** Says goodbye. */
  end(): Promise<void>
}

export interface MdnsSocketParts {
  readonly nowMs: () => number
  readonly heard: (service: HeardService) => void
  /** A fault of the socket or in what somebody has sent. */
  readonly isWrong: (error: unknown) => void
}

/** Opens a socket on port 5353 beside those of others. */
function openMdnsSocket({ nowMs, heard, isWrong }: MdnsSocketParts): MdnsSocket {
  const options = { socket: guardedSocket(nowMs, isWrong) }
  // What is more in the options goes to multicast-dns, which takes a socket; the library's types do not say so.
  const bonjour = new Bonjour(options as object, isWrong)
  let service: ReturnType<typeof bonjour.publish> | undefined
  let browser: ReturnType<typeof bonjour.find> | undefined
  let announced = ''
  return {
    announce: (announcement) => {
      const text = JSON.stringify(announcement ?? null)
      if (text === announced) return
      announced = text
      service?.stop?.()
      service =
        announcement === undefined
          ? undefined
          : bonjour.publish({
              name: instanceName(announcement),
              type: SERVICE_TYPE,
              port: announcement.port,
              txt: txtOf(announcement),
              // The name is nobody else's; a probe lets whoever answers it keep this node silent.
              probe: false,
            })
    },
    look: () => {
      browser?.stop()
      let count = 0
      const take = (one: HeardService): void => {
        count += 1
        if (count > LOOK_LIMIT) found.stop()
        else heard(one)
      }
      const found = bonjour.find({ type: SERVICE_TYPE }, take)
      found.on('txt-update', take)
      found.on('srv-update', take)
      browser = found
    },
    end: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, END_BOUND_MS)
        browser?.stop()
        bonjour.unpublishAll(() =>
          bonjour.destroy(() => {
            clearTimeout(timer)
            resolve()
          }),
        )
      }),
  }
}

const peerUntrusted: ErrorFactory = defineError('peer_untrusted', 409, '%s')

const ANSWER_BOUND_MS = 10_000
/** Octets: a thousand members have some 400,000. */
const ANSWER_LIMIT = 4 * 1024 * 1024

/** As whom this node asks, and what it knows of certificates. */
interface OwnMesh extends Pick<Members, 'isRevoked'> {
  readonly tls: ReturnType<NodeCredentials['tls']>
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
async function confirmNode(
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

/** SHA-256 of a certificate's DER as it is announced: 64 hexadecimal digits, lower case. */
function fingerprintOf({ fingerprint256 }: X509Certificate): string {
  return fingerprint256.replaceAll(':', '').toLowerCase()
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
  return nodeIdIn(certificate.subjectAltName) === nodeId
    ? undefined
    : `the certificate of ${name} is of another node`
}

async function ask(
  suggestion: Suggestion,
  { tls: { key, cert }, caPem, isRevoked }: OwnMesh,
  signal: AbortSignal,
): Promise<string> {
  const { address, port, name } = suggestion
  const checkServerIdentity = (_host: string, { raw }: PeerCertificate): Error | undefined => {
    const problem = certificateProblem(raw, suggestion, isRevoked)
    return problem === undefined ? undefined : new Error(problem)
  }
  const { status, text } = await requestOnce(
    {
      maxBytes: ANSWER_LIMIT,
      connect: { key, cert, ca: caPem, servername: BOX_SERVER_NAME, checkServerIdentity },
    },
    { method: 'GET', url: new URL(`https://${address}:${port}/v1/mesh/members`) },
    AbortSignal.any([signal, AbortSignal.timeout(ANSWER_BOUND_MS)]),
  ).catch((error: Error) => {
    throw peerUntrusted(`${name} at ${address} port ${port}: ${error.message}`)
  })
  if (status === 200) return text
  throw peerUntrusted(`${name} answered ${status}; is this node still a member of the mesh?`)
}

function membersFrom(text: string): readonly MemberRecord[] {
  const answer = jsonIn(text)
  const { members } = isRecord(answer) ? answer : {}
  return Array.isArray(members) ? members.filter(isRecord) : []
}

function wireguardFrom({ wireguard }: MemberRecord): PublishedWireguard | undefined {
  const told = isRecord(wireguard) ? wireguard : {}
  const { public_key, listen_port } = told
  if (typeof public_key !== 'string' || typeof listen_port !== 'number') return undefined
  return {
    public_key,
    next_public_key: textOrNull(told.next_public_key),
    prepared: texts(told.prepared),
    endpoint: textOrNull(told.endpoint),
    listen_port,
    advertised: texts(told.advertised),
    takes: texts(told.takes),
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function texts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
}

/** So many nodes are kept, and so many from one address. */
export const HEARD_LIMIT = 64
export const PER_ADDRESS = 4

/** Nodes that were heard of, in memory. */
interface Heard {
  /** One that finds no place is dropped. */
  add(suggestion: Suggestion): void
  /** Forgets those that have not been heard since. */
  forget(beforeMs: number): void
  list(): readonly Suggestion[]
  get(id: string): Suggestion | undefined
}

/**
 * An empty list. A stranger who announces thousands fills it at most: the first that were heard stay while they are heard,
 * so nobody is crowded out by those that come later.
 */
export function heardNodes(): Heard {
  const byId = new Map<string, Suggestion>()
  return {
    add: (suggestion) => {
      const { id, nodeId, address: there, port } = suggestion
      const fromThere = [...byId.values()].filter(({ address }) => address === there)
      // What a node said of itself before, such as the certificate of a mesh that it has left.
      const before = fromThere.filter((one) => one.nodeId === nodeId && one.port === port)
      for (const one of before) if (one.id !== id) byId.delete(one.id)
      const isFull = byId.size >= HEARD_LIMIT || fromThere.length - before.length >= PER_ADDRESS
      if (byId.has(id) || !isFull) byId.set(id, suggestion)
    },
    forget: (beforeMs) => {
      for (const { id, heardAtMs } of byId.values()) if (heardAtMs < beforeMs) byId.delete(id)
    },
    list: () => [...byId.values()],
    get: (id) => byId.get(id),
  }
}

const LOOK_MS = 60_000
/** One that misses so many looks is gone. */
const MISSED = 3
const PROBLEM_CHARACTERS = 200

/** What tests put in place of the network. */
export interface DiscoverySeams {
  readonly open?: typeof openMdnsSocket
}

/** Announces this node by mDNS, and suggests those that it hears. */
export async function discovery(
  context: Context<PeeringConfig>,
  members: Members,
  { open = openMdnsSocket }: DiscoverySeams = {},
): Promise<{ readonly part: Instance; readonly suggestions: Suggestions }> {
  const heard = heardNodes()
  const { enabled, mdns } = context.config
  const place = enabled && mdns ? apiPlace(context) : { port: undefined, why: 'peering.mdns is false' }
  let mdnsSocket: MdnsSocket | undefined
  let problem: string | undefined
  const announce = (): void => mdnsSocket?.announce(announcementOf(context, place))
  const look = async (): Promise<void> => {
    heard.forget(context.clock.monotonicMs() - MISSED * LOOK_MS)
    problem = undefined
    mdnsSocket?.look()
  }
  const start = async (): Promise<void> => {
    if (place.port === undefined) return
    mdnsSocket = open({
      nowMs: () => context.clock.monotonicMs(),
      heard: (service) => {
        const suggestion = suggestionFrom(service, context.clock.monotonicMs())
        const isOwn = suggestion?.nodeId === context.use(nodeIdentityRef).nodeId
        if (suggestion !== undefined && !isOwn) heard.add(suggestion)
      },
      isWrong: (error) => {
        problem = error instanceof Error ? error.message.slice(0, PROBLEM_CHARACTERS) : 'the socket failed'
        context.log.debug({ problem }, 'mDNS')
      },
    })
    announce()
    context.defer(context.use(nodeCredentialsRef).onChange(announce))
    context.every(LOOK_MS, look, 'machine')
    await look()
  }
  return {
    part: {
      start,
      health: async () => [healthOf(place, problem)],
      stop: async () => {
        await mdnsSocket?.end()
      },
    },
    suggestions: suggestionsOf(context, members, heard),
  }
}

function suggestionsOf(context: Context<PeeringConfig>, members: Members, heard: Heard): Suggestions {
  // A member is a peer by itself: there is nothing to suggest.
  const isMember = (nodeId: string): boolean => members.list().some((member) => member.nodeId === nodeId)
  return {
    list: () => heard.list().filter(({ nodeId }) => !isMember(nodeId)),
    get: (id) => heard.get(id),
    confirm: async (id, signal) => {
      const suggestion = heard.get(id)
      if (suggestion === undefined) throw peerNotFound(id)
      const identity = context.use(nodeCredentialsRef)
      const caPem = identity.membership()?.caPem ?? context.use(nodeCaRef).caPem
      const { isRevoked } = members
      return await confirmNode(suggestion, { tls: identity.tls(), caPem, isRevoked }, signal)
    },
  }
}

function announcementOf(
  context: Context<PeeringConfig>,
  { port }: Pick<ApiPlace, 'port'>,
): Announcement | undefined {
  if (port === undefined) return undefined
  const { nodeId, name } = context.use(nodeIdentityRef)
  const identity = context.use(nodeCredentialsRef)
  const certificate = new X509Certificate(identity.tls().cert)
  return {
    nodeId,
    name,
    meshName: identity.membership()?.meshName ?? (context.config.name || name),
    fingerprint: fingerprintOf(certificate),
    port,
  }
}

function healthOf(
  { port, why }: Pick<ApiPlace, 'port' | 'why'>,
  problem: string | undefined,
): ComponentHealth {
  const detail = port === undefined ? `not announced: ${why}` : `announced on port ${port}`
  return problem === undefined
    ? { name: 'mdns', kind: 'feature', status: 'ok', detail }
    : { name: 'mdns', kind: 'feature', status: 'degraded', detail: `mDNS does not work: ${problem}` }
}
