import { isIP } from 'node:net'

/** Where a peer's WireGuard is reached. */
export interface Endpoint {
  /** An address (IPv6 without brackets) or a DNS name. */
  readonly host: string
  readonly port: number
}

const SCHEME = 'wg://'
const MAX_PORT = 65_535
const MAX_NAME = 253
/** RFC 1123 §2.1; an underscore is in use, too. */
const LABEL = /^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$/

/** Reads `wg://host:port`, `wg://[2001:db8::1]:51820`. Undefined for anything else. Contract section 9. */
export function parseEndpoint(text: string): Endpoint | undefined {
  return text.startsWith(SCHEME) ? parseHostPort(text.slice(SCHEME.length)) : undefined
}

/** Reads `host:port` as WireGuard writes it. Undefined for anything else. */
export function parseHostPort(text: string): Endpoint | undefined {
  const [, bracketed, plain, portText = ''] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? []
  const host = bracketed ?? plain
  const port = Number(portText)
  if (host === undefined || port < 1 || port > MAX_PORT || String(port) !== portText) return undefined
  if (bracketed !== undefined)
    return isIP(bracketed) === 6 && !bracketed.includes('%') ? { host, port } : undefined
  if (isIP(host) === 4) return { host, port }
  return isName(host) ? { host, port } : undefined
}

/** `host:port` as `wg` reads it. */
export function hostPort({ host, port }: Endpoint): string {
  return isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`
}

/** `wg://host:port` as the API writes it. */
export function endpointText(endpoint: Endpoint): string {
  return `${SCHEME}${hostPort(endpoint)}`
}

/** All digits and dots is an address with a slip in it, and no name. */
function isName(host: string): boolean {
  if (host.length > MAX_NAME || /^[\d.]+$/.test(host)) return false
  return host.split('.').every((label) => LABEL.test(label))
}
