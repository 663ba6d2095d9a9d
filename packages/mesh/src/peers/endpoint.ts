import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { type Clock, untilAborted } from '@steeple/contracts'

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

export interface Resolver {
  /** The address of a name or of itself; undefined when it has none, or none could be found in short time. */
  addressOf(host: string): Promise<string | undefined>
}

/** How long an answer is used again. */
const FRESH_MS = 60_000
/** A look-up that takes longer goes on, and its answer is there at the next look. */
const PATIENCE_MS = 1_000

/** By the system's resolver. A name that once had an address keeps it while the look-up fails. */
export function systemResolver(clock: Clock): Resolver {
  const known = new Map<string, { readonly address: string | undefined; readonly atMs: number }>()
  const running = new Map<string, Promise<void>>()
  const ask = async (host: string): Promise<void> => {
    const before = known.get(host)?.address
    const found = await lookup(host).then(
      ({ address }) => address,
      () => undefined,
    )
    known.set(host, { address: found ?? before, atMs: clock.monotonicMs() })
    running.delete(host)
  }
  return {
    addressOf: async (host) => {
      if (isIP(host) !== 0) return host
      const last = known.get(host)
      if (last !== undefined && clock.monotonicMs() - last.atMs < FRESH_MS) return last.address
      const asking = running.get(host) ?? ask(host)
      running.set(host, asking)
      await untilAborted(asking, AbortSignal.timeout(PATIENCE_MS)).catch(() => undefined)
      if (known.has(host)) running.delete(host)
      return known.get(host)?.address
    },
  }
}
