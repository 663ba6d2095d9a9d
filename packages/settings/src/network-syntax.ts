import { isIP, isIPv4, isIPv6 } from 'node:net'

/** Where the service listens. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

const MAX_PORT = 65_535
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

/** `:8080` (every IPv4 interface), `0.0.0.0:8080`, `localhost:8080` or `[::1]:8080`; undefined when it is none. Port 0 takes a free one. */
export function parseListenAddress(text: string): ListenAddress | undefined {
  const match = /^(\[[^\]]*\]|[^:[\]]*):(\d{1,5})$/.exec(text)
  if (match === null) return undefined
  const host = match[1] ?? ''
  const port = Number(match[2])
  if (port > MAX_PORT || !isHost(host)) return undefined
  return { host: host === '' ? '0.0.0.0' : host.replaceAll(/[[\]]/g, ''), port }
}

/** Whether a host is this machine alone: 127.0.0.0/8 (RFC 1122 §3.2.1.3), ::1 (RFC 4291 §2.5.3), localhost (RFC 6761 §6.3). */
export function isLoopback(host: string): boolean {
  if (isIPv4(host)) return host.startsWith('127.')
  if (isIPv6(host)) return URL.parse(`http://[${host}]`)?.hostname === '[::1]'
  return host.toLowerCase() === 'localhost'
}

/** Whether a text is a host name, RFC 1123 §2.1. All digits and dots is one, too: ask for an address first. */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text)
}

function isHost(host: string): boolean {
  if (host.startsWith('[')) return isIPv6(host.slice(1, -1))
  // All digits and dots is meant as an address: 300.0.0.1 is no name.
  return host === '' || isIPv4(host) || (!/^[\d.]+$/.test(host) && isHostName(host))
}

/** Whether a text is an address and a prefix length, `10.0.0.0/8` or `fc00::/7`. */
export function isCidr(text: string): boolean {
  const match = /^([^/]+)\/(\d{1,3})$/.exec(text)
  if (match === null) return false
  const family = isIP(match[1] ?? '')
  const length = Number(match[2])
  return (family === 4 && length <= 32) || (family === 6 && length <= 128)
}
