/** What a client says of itself before TLS begins. */
export interface ClientHello {
  /** The name that it asks for; undefined when it sends none. RFC 6066 §3. */
  readonly host: string | undefined
  /** IANA numbers of its groups; empty when it sends none. RFC 8422 §5.1.1. */
  readonly groups: readonly number[]
  /** IANA numbers of its signature schemes. RFC 8446 §4.2.3. */
  readonly signatures: readonly number[]
  /** SHA-1 of the keys of the authorities that it believes, hexadecimal: subject key identifiers. RFC 6066 §6. */
  readonly trustedKeys: readonly string[]
}

/** Larger than any that is sent: those with keys of lattices have 2 KiB. */
const MAX_OCTETS = 16_384
const HANDSHAKE = 22
const CLIENT_HELLO = 1

/**
 * Reads the first octets of a connection: the client's words, `more` while they are not whole, undefined for what is no
 * TLS. Never throws. RFC 8446 §4.1.2, §5.1.
 */
export function readClientHello(octets: Uint8Array): ClientHello | 'more' | undefined {
  const message = handshakeOf(Buffer.from(octets.buffer, octets.byteOffset, octets.length))
  if (!(message instanceof Uint8Array)) return message
  try {
    return parsed(message)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** The first handshake message, put together from its records. */
function handshakeOf(octets: Buffer): Buffer | 'more' | undefined {
  const content = contentOf(octets)
  if (content === undefined || (content[0] ?? CLIENT_HELLO) !== CLIENT_HELLO) return undefined
  const whole = content.length < 4 ? undefined : 4 + content.readUIntBE(1, 3)
  if ((whole ?? 0) > MAX_OCTETS || octets.length > 2 * MAX_OCTETS) return undefined
  return whole === undefined || content.length < whole ? 'more' : content.subarray(4, whole)
}

/** What is in the handshake records at the beginning, as far as it has come; undefined when something else is there. */
function contentOf(octets: Buffer): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = 0; at < octets.length; ) {
    // Behind the client's first words there may be others of its.
    if (octets[at] !== HANDSHAKE) return at === 0 ? undefined : Buffer.concat(parts)
    const length = at + 5 > octets.length ? undefined : octets.readUInt16BE(at + 3)
    if (length === undefined) break
    if (length === 0 || length > MAX_OCTETS) return undefined
    parts.push(octets.subarray(at + 5, at + 5 + length))
    at += 5 + length
  }
  return Buffer.concat(parts)
}

/** Throws `RangeError` where it ends too early. */
function parsed(message: Buffer): ClientHello {
  // Version and random, session id, cipher suites, compression.
  let at = 34
  at += 1 + message.readUInt8(at)
  at += 2 + message.readUInt16BE(at)
  at += 1 + message.readUInt8(at)
  const found = new Map<number, Buffer>()
  const end = at < message.length ? at + 2 + message.readUInt16BE(at) : at
  for (at += 2; at < end; ) {
    const length = message.readUInt16BE(at + 2)
    found.set(message.readUInt16BE(at), message.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return {
    host: hostIn(found.get(0)),
    groups: numbersIn(found.get(10)),
    signatures: numbersIn(found.get(13)),
    trustedKeys: keysIn(found.get(3)),
  }
}

function hostIn(extension: Buffer | undefined): string | undefined {
  if (extension === undefined || extension.length < 5 || extension[2] !== 0) return undefined
  return extension.toString('latin1', 5, 5 + extension.readUInt16BE(3)).toLowerCase()
}

function numbersIn(extension: Buffer | undefined): readonly number[] {
  if (extension === undefined) return []
  const numbers: number[] = []
  for (let at = 2; at + 2 <= extension.length; at += 2) numbers.push(extension.readUInt16BE(at))
  return numbers
}

/** Of the ways to name an authority the one by SHA-1 of its key alone. */
function keysIn(extension: Buffer | undefined): readonly string[] {
  if (extension === undefined) return []
  const keys: string[] = []
  for (let at = 2; at + 21 <= extension.length && extension[at] === 1; at += 21)
    keys.push(extension.toString('hex', at + 1, at + 21))
  return keys
}
