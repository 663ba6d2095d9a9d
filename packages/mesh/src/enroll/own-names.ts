import { NODE_ID_PATTERN } from '../shapes.ts'

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
  const host = address?.replace(/:\d+$/, '').replace(/^\[|\]$/g, '')
  return [
    `svc://node/${id}`,
    id,
    ...['localhost', '127.0.0.1', '::1', plainAddress(peerAddress)],
    ...(name === undefined ? [] : [name, `${name}.local`]),
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
