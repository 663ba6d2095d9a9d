import { readOne, type Tlv } from '@steeple/sgp22'

/** Tags of SGP.22's messages that several of them have. Facts section 1.2. */
export const SEQUENCE = 0x30
/** A signature of 64 octets, `r || s`. SGP.22 §2.6.7.2. */
export const SIGNATURE = 0x5f37
/** A one-time public key: `04 || X || Y`. */
export const OTPK = 0x5f49
export const TID = 0x80
export const NOTIFICATION_METADATA = 0xbf2f
/** Octets of a challenge, a transaction id of ours, and a signature. */
export const CHALLENGE_OCTETS = 16
const SIGNATURE_OCTETS = 64

/** A message of an eUICC that is not what SGP.22 says. `what` is for the log. */
export class MessageError extends Error {
  readonly what: string

  constructor(what: string, options?: ErrorOptions) {
    super(what, options)
    this.name = 'MessageError'
    this.what = what
  }
}

/** The members of a SEQUENCE: which must be there and which may, in that order. */
export interface MemberList {
  readonly name: string
  readonly tags: readonly { readonly tag: number; readonly optional?: true }[]
  /** Later versions of SGP.22 add members: those that are not known are passed over, in whatever place. */
  readonly open?: true
}

/** What the members of an object are, by tag. */
export interface Members {
  get(tag: number): Tlv
  maybe(tag: number): Tlv | undefined
}

/** Reads a text that is one object with that tag. Throws `MessageError`, `TlvError`. */
export function objectOf(text: Uint8Array, tag: number, name: string): Tlv {
  const one = readOne(text)
  if (one.tag !== tag) throw new MessageError(`${name} begins with ${hex(one.tag)} and not with ${hex(tag)}`)
  return one
}

/** Reads the members of an object by their list. Throws `MessageError` for one that is missing, twice there, unknown or out of place. */
export function membersOf(of: Tlv, list: MemberList): Members {
  const found = new Map<number, Tlv>()
  let place = 0
  for (const one of of.children()) {
    if (found.has(one.tag)) throw new MessageError(`${list.name} has ${hex(one.tag)} twice`)
    const at = list.tags.findIndex(({ tag }) => tag === one.tag)
    if (at < place && list.open !== true)
      throw new MessageError(`${list.name} has ${hex(one.tag)} where it has no place`)
    place = Math.max(place, at)
    found.set(one.tag, one)
  }
  for (const { tag, optional } of list.tags)
    if (optional !== true && !found.has(tag)) throw new MessageError(`${list.name} has no ${hex(tag)}`)
  return {
    get: (tag) => {
      const one = found.get(tag)
      if (one === undefined) throw new MessageError(`${list.name} has no ${hex(tag)}`)
      return one
    },
    maybe: (tag) => found.get(tag),
  }
}

/** The value of an object when it has that many octets. Throws `MessageError`. */
export function octetsIn(of: Tlv, octets: number, name: string): Uint8Array {
  if (of.value.length !== octets)
    throw new MessageError(`${name} has ${of.value.length} octets and not ${octets}`)
  return of.value
}

/** The whole object of a signature, `5F37 40 r s`. Throws `MessageError`. */
export function signatureIn(of: Tlv, name: string): Uint8Array {
  octetsIn(of, SIGNATURE_OCTETS, name)
  return of.raw
}

/** A small non-negative INTEGER. Throws `MessageError`. X.690 §8.3. */
export function integerOf(of: Tlv, name: string): number {
  const { value } = of
  const [first = 0] = value
  if (value.length === 0 || value.length > 6 || first >= 0x80)
    throw new MessageError(`${name} is no number of use here`)
  return value.reduce((sum, octet) => sum * 256 + octet, 0)
}

/** An object identifier or text of UTF-8. */
export function textOf(of: Tlv): string {
  return Buffer.from(of.value).toString('utf8')
}

/** Upper-case hexadecimal. */
export function upperHex(octets: Uint8Array): string {
  return Buffer.from(octets).toString('hex').toUpperCase()
}

function hex(tag: number): string {
  return tag.toString(16).toUpperCase().padStart(2, '0')
}
