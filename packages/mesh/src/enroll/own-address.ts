import { isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Context } from '@steeple/contracts'
import type { PeeringConfig } from '../config.ts'
import { hostPort } from '../peers/endpoint.ts'

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
