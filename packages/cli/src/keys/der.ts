/** Writes DER. ITU-T X.690 §8, §10. */

/** One element: its tag octet, its length and what it holds. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const inner = Buffer.concat(content)
  const length = inner.length
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), inner])
  const hex = length.toString(16)
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | octets.length]), octets, inner])
}

export const sequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content)
export const setOf = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content)
export const octetString = (content: Uint8Array): Buffer => der(0x04, content)
/** Constructed and specific to its context. */
export const tagged = (number: number, ...content: readonly Uint8Array[]): Buffer =>
  der(0xa0 | number, ...content)
export const NULL: Buffer = der(0x05)

/** A whole number from 0 on. */
export function integer(value: number): Buffer {
  const hex = value.toString(16)
  const octets = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return der(0x02, (octets[0] ?? 0) < 0x80 ? octets : Buffer.concat([Buffer.from([0]), octets]))
}

/** An object identifier as people write it: `1.2.840.113549`. */
export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number)
  return der(0x06, Buffer.from([40 * first + second, ...others.flatMap(base128)]))
}

function base128(value: number): number[] {
  const septets = [value & 0x7f]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128))
    septets.unshift(0x80 | (rest & 0x7f))
  return septets
}

/** Octets as PEM with a final line break. RFC 7468 §2. */
export function pem(label: string, octets: Uint8Array): string {
  const lines =
    Buffer.from(octets)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
