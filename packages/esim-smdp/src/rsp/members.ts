import { readOne, type Tlv } from '@steeple/sgp22'

/** Tags of SGP.22's messages that several of them have. Facts section 1.2. */
export const SEQUENCE = 0x30
export const TID = 0x80
/** Octets of a challenge and of a transaction id of ours. */
export const CHALLENGE_OCTETS = 16
/** A signature `r || s`. SGP.22 §2.6.7.2. */
const SIGNATURE_OCTETS = 64

/** A message of an eUICC that is not what SGP.22 says. Its words are for the log. */
export class MessageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'MessageError'
  }
}

/** One member of a message: its tag, and how it is read. */
export interface Member<T> {
  readonly tag: number
  readonly isOptional?: true
  read(of: Tlv, name: string): T
}
type Members = Readonly<Record<string, Member<unknown>>>
/** What the members of a message say. */
export type Read<M> = { readonly [K in keyof M]: M[K] extends Member<infer T> ? T : never }

/**
 * Reads an object by a list of its members: each once, in that order. `isOpen`: later versions of SGP.22 add members, so those that
 * are not known are passed over, in whatever place. Throws `MessageError`.
 */
export function members<M extends Members>(
  of: Tlv,
  name: string,
  list: M,
  { isOpen = false }: { readonly isOpen?: boolean } = {},
): Read<M> {
  const rest = [...of.children()]
  if (isOpen && new Set(rest.map(({ tag }) => tag)).size < rest.length)
    throw new MessageError(`${name} has a member twice`)
  const found = Object.entries(list).map(([key, { tag, isOptional, read }]) => {
    const at = rest.findIndex((one) => one.tag === tag)
    const [one] = at === 0 || (isOpen && at > 0) ? rest.splice(at, 1) : []
    if (one !== undefined) return [key, read(one, `${name}.${key}`)]
    if (isOptional !== true) throw new MessageError(`${name} has no ${hex(tag)} in its place`)
    return [key, undefined]
  })
  const [other] = rest
  if (!isOpen && other !== undefined)
    throw new MessageError(`${name} has ${hex(other.tag)} where it has no place`)
  // Each key of the list, read as the list says.
  return Object.fromEntries(found) as Read<M>
}

/** Reads a text that is one object with that tag. Throws `MessageError`, `TlvError`. */
export function objectOf(text: Uint8Array, tag: number, name: string): Tlv {
  const one = readOne(text)
  if (one.tag !== tag) throw new MessageError(`${name} begins with ${hex(one.tag)} and not with ${hex(tag)}`)
  return one
}

/** The one child that a CHOICE has. Throws `MessageError`. */
export function choiceOf(of: Tlv, name: string): Tlv {
  const [first, second] = of.children()
  if (first === undefined || second !== undefined) throw new MessageError(`${name} is not one choice`)
  return first
}

export function optional<T>(member: Member<T>): Member<T | undefined> {
  return { ...member, isOptional: true }
}

/** The object itself, to be read further, or to be held against a signature. */
export function object(tag: number): Member<Tlv> {
  return { tag, read: (of) => of }
}

/** A whole object as it was received. */
export function raw(tag: number): Member<Uint8Array> {
  return { tag, read: (of) => of.raw }
}

/** The value of an object; of that many octets when it says so. */
export function octets(tag: number, length?: number): Member<Uint8Array> {
  return { tag, read: ({ value }, name) => sized(value, length, name) }
}

/** The whole object of a signature, `5F37 40 r s`. */
export const SIGNATURE: Member<Uint8Array> = {
  tag: 0x5f37,
  read: ({ value, raw: whole }, name) => {
    sized(value, SIGNATURE_OCTETS, name)
    return whole
  },
}

/** A transaction id, 1 to 16 octets, as upper-case hexadecimal. */
export const TRANSACTION: Member<string> = {
  tag: TID,
  read: ({ value }, name) => {
    if (value.length === 0 || value.length > 16) throw new MessageError(`${name} has another length`)
    return upperHex(value)
  },
}

/** A small non-negative INTEGER. X.690 §8.3. */
export function integer(tag: number): Member<number> {
  return {
    tag,
    read: ({ value }, name) => {
      const [first = 0] = value
      if (value.length === 0 || value.length > 6 || first >= 0x80)
        throw new MessageError(`${name} is no number of use here`)
      return value.reduce((sum, octet) => sum * 256 + octet, 0)
    },
  }
}

/** Text of UTF-8 of at most that many octets. */
export function text(tag: number, most = Number.POSITIVE_INFINITY): Member<string> {
  return {
    tag,
    read: ({ value }, name) => {
      if (value.length > most) throw new MessageError(`${name} is too long`)
      return Buffer.from(value).toString('utf8')
    },
  }
}

/** Upper-case hexadecimal. */
export function upperHex(value: Uint8Array): string {
  return Buffer.from(value).toString('hex').toUpperCase()
}

function sized(value: Uint8Array, length: number | undefined, name: string): Uint8Array {
  if (length !== undefined && value.length !== length)
    throw new MessageError(`${name} has ${value.length} octets and not ${length}`)
  return value
}

function hex(tag: number): string {
  return tag.toString(16).toUpperCase().padStart(2, '0')
}
