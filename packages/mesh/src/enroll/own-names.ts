import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { hostname, networkInterfaces } from 'node:os'
import { type Context, localHostName, nodeUri, plainAddress, UUID_PATTERN } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import { hostPort } from '../peers/endpoint.ts'
import { CERTIFICATE_LIFE_MS } from '../shapes.ts'
import type { MemberRow } from './store.ts'

const NODE_ID = new RegExp(UUID_PATTERN)

/** What says which names a node has. */
interface Claim {
  readonly id: string
  readonly name: string | undefined
  readonly address: string | undefined
  readonly peerAddress: string
}

/** The names that a request may ask for without being refused; whether the certificate gets them is another matter. */
export function ownNames({ id, name, address, peerAddress }: Claim): readonly string[] {
  const host = hostOf(address)
  return [
    nodeUri(id),
    id,
    ...['localhost', '127.0.0.1', '::1', plainAddress(peerAddress)],
    ...(name === undefined ? [] : [name, `${name}.local`, localHostName(name) ?? name]),
    ...(host === undefined ? [] : [host]),
  ]
}

/** The node that a refused request was for, or `mesh`. Its path is unchecked: only an id gets into the trail. */
export function targetOf(params: unknown): string {
  const id = typeof params === 'object' && params !== null ? Reflect.get(params, 'id') : undefined
  return typeof id === 'string' && NODE_ID.test(id) ? id : 'mesh'
}

/**
 * The addresses that the certificate of a node says: those of loopback, for the commands of its own box, and those at which it was
 * seen unless somebody else has them. Behind one router the root, or another member, is seen at the same: `ofRoot`, `rows`.
 */
export function certifiedAddresses(
  id: string,
  seen: readonly string[],
  rows: readonly Pick<MemberRow, 'node_id' | 'address' | 'seen_address' | 'overlay_address'>[],
  ofRoot: readonly string[],
): readonly string[] {
  const others = rows
    .filter(({ node_id }) => node_id !== id)
    .flatMap(({ address, seen_address, overlay_address }) => [hostOf(address), seen_address, overlay_address])
  const taken = new Set<string | null | undefined>([...others, ...ofRoot])
  const free = seen.map(plainAddress).filter((one) => isIP(one) !== 0 && !taken.has(one))
  return [...new Set(['127.0.0.1', '::1', ...free])]
}

/** The host of `host:port`; an address of IPv6 without its brackets. */
function hostOf(address: string | null | undefined): string | undefined {
  return address?.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
}

/**
 * The `.local` name that the certificate of a node says, which people who believe the CA reach it by: made of its name, and of
 * nobody else's who is in the mesh or has a certificate that has not ended yet, and not of the machine's that asks (the root).
 */
export function localNameOf(
  { id, name }: { readonly id: string; readonly name: string },
  rows: Iterable<Pick<MemberRow, 'node_id' | 'name' | 'left_at_ms'>>,
  nowMs: number,
): string | undefined {
  const wanted = localHostName(name)
  const [ofMachine = ''] = hostname().split('.')
  if (wanted === undefined || wanted === localHostName(ofMachine)) return undefined
  for (const { node_id, name: other, left_at_ms } of rows) {
    const counts = left_at_ms === null || left_at_ms > nowMs - CERTIFICATE_LIFE_MS
    if (node_id !== id && counts && localHostName(other) === wanted) return undefined
  }
  return wanted
}

/** The `.local` name that a certificate (PEM) says. It is renewed with it, whoever has that name since. */
export function localNameIn(pem: string): string | undefined {
  return /(?:^|, )DNS:([a-z0-9-]+\.local)(?:,|$)/.exec(new X509Certificate(pem).subjectAltName ?? '')?.[1]
}

/** Where the API of this node listens, for other boxes; no port where they do not reach it, and why. */
export interface ApiPlace {
  /** Empty: on all addresses. */
  readonly host: string
  readonly port: number | undefined
  readonly why: string
}

/** What the configuration says of it. */
export function apiPlace({ settings }: Pick<Context, 'settings'>): ApiPlace {
  const [, text = '', port = ''] = /^(.*):(\d+)$/.exec(settings.server.listen) ?? []
  const bare = text.replace(/^\[|\]$/g, '')
  const host = bare === '0.0.0.0' || bare === '::' ? '' : bare
  const silent = (why: string): ApiPlace => ({ host, port: undefined, why })
  if (!settings.tls.enabled)
    return silent('tls.enabled is false, and boxes speak to one another by TLS alone')
  if (isLoopback(host)) return silent('server.listen is a loopback address')
  if (Number(port) === 0) return silent('server.listen names no port')
  return { host, port: Number(port), why: '' }
}

/**
 * `host:port` at which other boxes reach the API of this node: as `peering.url` says, else where it listens, on the first address of
 * the machine that is not the mesh's. Undefined where they do not reach it. Another one as soon as the machine moves.
 */
export function ownAddress(context: Pick<Context<PeeringConfig>, 'config' | 'settings'>): string | undefined {
  const { url, interface: mesh } = context.config
  if (url !== '') {
    const { hostname, port } = new URL(url)
    return `${hostname}:${port === '' ? 443 : port}`
  }
  const { host, port } = apiPlace(context)
  const address = host === '' ? firstAddress(mesh) : host
  return port === undefined || address === undefined ? undefined : hostPort({ host: address, port })
}

/** Where this machine is, as it knows itself and as its configuration says: addresses and host names. */
export function machineAddresses({ config }: Pick<Context<PeeringConfig>, 'config'>): readonly string[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  const own = all.flatMap(({ internal, address }) => (internal ? [] : [address]))
  return config.url === '' ? own : [...own, new URL(config.url).hostname.replace(/^\[|\]$/g, '')]
}

/** What a root tells its members of where it answers: `https://host:port`. */
export function announcedUrl(
  context: Pick<Context<PeeringConfig>, 'config' | 'settings'>,
): string | undefined {
  const address = context.config.enabled ? ownAddress(context) : undefined
  return address === undefined ? undefined : new URL(`https://${address}`).origin
}

/** The first IPv4 address of the machine that others can reach, but for that of an interface. */
function firstAddress(except: string): string | undefined {
  const all = Object.entries(networkInterfaces()).flatMap(([name, list = []]) =>
    name === except ? [] : list,
  )
  return all.find(({ family, internal }) => family === 'IPv4' && !internal)?.address
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
