/** Octets of hexadecimal digits; the caller knows that they are. */
export function fromHex(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}

/** Upper-case hexadecimal digits, as a transaction id travels in JSON. */
export function toHex(octets: Uint8Array): string {
  return Buffer.from(octets).toString('hex').toUpperCase()
}

/** Whether both are there and the same. */
export function isSame(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one !== undefined && other !== undefined && Buffer.compare(one, other) === 0
}

/** Octets with the digits of each in the other order: how a card's files hold numbers. TS 24.008 §10.5.1.4. */
export function nibblesSwapped(octets: Uint8Array): Uint8Array {
  return octets.map((octet) => ((octet & 0x0f) << 4) | (octet >> 4))
}

/** The octets of a positive whole number as DER has an INTEGER: shortest, first bit clear. X.690 §8.3. */
export function integerOctets(value: number): Uint8Array {
  const digits = value.toString(16)
  const octets = fromHex(digits.length % 2 === 0 ? digits : `0${digits}`)
  return (octets[0] ?? 0) < 0x80 ? octets : Uint8Array.of(0, ...octets)
}

/** A whole number out of an INTEGER of up to six octets; undefined for another. */
export function integerFrom(octets: Uint8Array | undefined): number | undefined {
  if (octets === undefined || octets.length === 0 || octets.length > 6) return undefined
  return Buffer.from(octets).readIntBE(0, octets.length)
}

/** Text that is good UTF-8 of at most `maxOctets`; undefined for other. */
export function utf8From(octets: Uint8Array, maxOctets: number): string | undefined {
  if (octets.length > maxOctets) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(octets)
  } catch {
    return undefined
  }
}
