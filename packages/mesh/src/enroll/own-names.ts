import { X509Certificate } from 'node:crypto'
import { isIP } from 'node:net'
import { hostname } from 'node:os'
import { localHostName } from '@steeple/contracts'
import { CERTIFICATE_LIFE_MS } from '../certificate.ts'
import { NODE_ID_PATTERN } from '../shapes.ts'
import type { MemberRow } from './rows.ts'

const NODE_ID = new RegExp(NODE_ID_PATTERN)

/** What says which names a node has. */
export interface Claim {
  readonly id: string
  readonly name: string | undefined
  readonly address: string | undefined
  readonly peerAddress: string
}

/** The names that a request may ask for without being refused; whether the certificate gets them is another matter. */
export function ownNames({ id, name, address, peerAddress }: Claim): readonly string[] {
  const host = hostOf(address)
  return [
    `svc://node/${id}`,
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

/** An address as it is written in a certificate: no IPv4 in IPv6 (RFC 4291 §2.5.5.2), and no zone. */
export function plainAddress(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '')
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
