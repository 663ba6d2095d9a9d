import type { IncomingMessage } from 'node:http'
import type { Request } from '@steeple/contracts'
import ipaddr from 'ipaddr.js'
import type { EdgeKernel } from '../edge-kernel.ts'
import { networkScope } from '../system/network-scope.ts'

/** From where a request comes. */
export interface Sender {
  /** Of the client: what the proxies say that are trusted, otherwise the other end of the connection. */
  readonly address: string
  /** The proxy at the other end of the connection, if it is one of `server.trusted_proxies`. */
  readonly proxy: Request['proxy']
}

/** Tells senders by the connection, and by `X-Forwarded-For` where `server.trusted_proxies` names its other end. */
export type SenderOf = (incoming: IncomingMessage) => Sender

/** Follows the configuration. With nobody trusted, the default, no header is looked at. */
export function createSenders(kernel: EdgeKernel): SenderOf {
  const read = () => networkScope(kernel.settings.server.trusted_proxies)
  let isAnybody = kernel.settings.server.trusted_proxies.length > 0
  let trusted = read()
  kernel.onSettings(() => {
    isAnybody = kernel.settings.server.trusted_proxies.length > 0
    trusted = read()
  })
  return ({ socket, headers }) => {
    const peer = plainAddress(socket.remoteAddress ?? '')
    if (!isAnybody || !trusted.has(peer)) return { address: peer, proxy: undefined }
    const address = clientOf(peer, listFrom(headers['x-forwarded-for']), (one) => trusted.has(one))
    return { address, proxy: { address: peer, isTls: isTlsBy(headers['x-forwarded-proto']) } }
  }
}

/**
 * The address behind a row of proxies: each has written the one that it was asked by to the end of the list, so what stands before the
 * last one that is no trusted proxy may be anybody's invention. The list ends where something is no address.
 */
export function clientOf(
  peer: string,
  list: readonly string[],
  isTrusted: (address: string) => boolean,
): string {
  let client = peer
  for (const entry of list.toReversed()) {
    const address = addressFrom(entry)
    if (address === undefined) return client
    client = address
    if (!isTrusted(address)) return client
  }
  return client
}

/** A socket that listens on [::] tells an IPv4 address in its IPv6 form (RFC 4291 §2.5.5.2). */
function plainAddress(text: string): string {
  return text.startsWith('::ffff:') ? (addressFrom(text) ?? text) : text
}

/** The entries of a header, which may have been sent in several lines. */
function listFrom(header: string | readonly string[] | undefined): readonly string[] {
  if (header === undefined) return []
  return (typeof header === 'string' ? header : header.join(',')).split(',').map((entry) => entry.trim())
}

/** Some proxies write the port too. An IPv4 address in IPv6 is told as IPv4. */
function addressFrom(entry: string): string | undefined {
  const [, v6, v4] = /^(?:\[([^\]]+)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/.exec(entry) ?? []
  const text = v6 ?? v4 ?? entry
  // Legacy forms (octal, fewer than four parts) are nobody's address.
  const isPlain = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
  return isPlain ? ipaddr.process(text).toString() : undefined
}

/** What the last proxy has written stands last. */
function isTlsBy(header: string | readonly string[] | undefined): boolean {
  return listFrom(header).at(-1)?.toLowerCase() === 'https'
}
