import type { Tlv } from '@steeple/sgp22'
import type { ProfileVersion } from '../parts.ts'
import { type MemberList, MessageError, membersOf, objectOf, octetsIn, upperHex } from './members.ts'

const SVN = 0x82
const VERIFICATION = 0xa9
const SIGNING = 0xaa
const OCTET_STRING = 0x04
/** More CIs than an eUICC knows. */
const MOST_CIS = 32

// Version 3 adds members to both, which a server of version 2 passes over. Facts section 1.9.
const INFO1: MemberList = {
  name: 'euiccInfo1',
  tags: [{ tag: SVN }, { tag: VERIFICATION }, { tag: SIGNING }],
  open: true,
}
const INFO2: MemberList = { ...INFO1, name: 'euiccInfo2' }
const PROFILE_VERSION = 0x81
const CARD_RESOURCE = 0x84
const CAPABILITY = 0x85
const FREE_MEMORY = 0x82

/** What an eUICC says of itself at first. SGP.22 §5.7.8. */
export interface EuiccInfo1 {
  /** Its version of SGP.22: three numbers. */
  readonly svn: Uint8Array
  /** Subject key identifiers of CIs whose certificates it can check, hexadecimal, in its order. */
  readonly verification: readonly string[]
  /** Those under which it has a key, the one that it likes best first. */
  readonly signing: readonly string[]
}

export interface EuiccInfo2 {
  readonly svn: Uint8Array
  /** Version of profile packages that it takes, major and minor; undefined when it does not say. */
  readonly profileVersion: ProfileVersion | undefined
  /** Free octets for profiles; undefined when it does not say. */
  readonly freeMemory: number | undefined
  /** Whether a bit of UICCCapability is set; undefined when it does not say what it can. */
  readonly can: ((bit: number) => boolean) | undefined
}

/** Reads a `BF20`. Throws `MessageError`, `TlvError`. */
export function readEuiccInfo1(text: Uint8Array): EuiccInfo1 {
  const members = membersOf(objectOf(text, 0xbf20, 'euiccInfo1'), INFO1)
  return {
    svn: octetsIn(members.get(SVN), 3, 'svn'),
    verification: keysOf(members.get(VERIFICATION)),
    signing: keysOf(members.get(SIGNING)),
  }
}

/** Reads a `BF22`. Throws `MessageError`, `TlvError`. SGP.22 §4.2. */
export function readEuiccInfo2(of: Tlv): EuiccInfo2 {
  const members = membersOf(of, INFO2)
  const version = members.maybe(PROFILE_VERSION)
  return {
    svn: octetsIn(members.get(SVN), 3, 'svn'),
    profileVersion: version === undefined ? undefined : versionIn(octetsIn(version, 3, 'profileVersion')),
    freeMemory: freeMemoryOf(members.maybe(CARD_RESOURCE)),
    can: capabilityOf(members.maybe(CAPABILITY)),
  }
}

/** Whether a server of version 2 and this eUICC understand each other: later ones fall back to it. */
export function isSpoken(svn: Uint8Array): boolean {
  return (svn[0] ?? 0) >= 2
}

function versionIn([major = 0, minor = 0]: Uint8Array): ProfileVersion {
  return [major, minor]
}

function keysOf(list: Tlv): readonly string[] {
  const keys = list.children()
  if (keys.length > MOST_CIS) throw new MessageError(`lists ${keys.length} CIs`)
  return keys.map((key) => {
    if (key.tag !== OCTET_STRING) throw new MessageError('lists a CI that is no octet string')
    return upperHex(key.value).toLowerCase()
  })
}

/** A BIT STRING: the first octet counts unused bits, which are zero. Bits that an eUICC of an earlier version does not know are not set. */
function capabilityOf(bits: Tlv | undefined): ((bit: number) => boolean) | undefined {
  if (bits === undefined || bits.value.length < 2) return undefined
  const { value } = bits
  return (bit) => ((value[1 + (bit >> 3)] ?? 0) & (0x80 >> (bit & 7))) !== 0
}

/** ETSI TS 102 226 §8.2.1.7.2, without its outer tag: 81 applications, 82 free non-volatile memory, 83 free volatile memory. */
function freeMemoryOf(resource: Tlv | undefined): number | undefined {
  const free = resource?.children().find(({ tag }) => tag === FREE_MEMORY)
  if (free === undefined || free.value.length === 0 || free.value.length > 6) return undefined
  return free.value.reduce((sum, octet) => sum * 256 + octet, 0)
}
