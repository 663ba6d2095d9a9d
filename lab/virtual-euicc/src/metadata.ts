import { child, readOne, type Tlv } from '@steeple/sgp22'
import { BPP_ERROR, Refusal } from './codes.ts'
import { nibblesSwapped, toHex, utf8From } from './octets.ts'

/** An operation that a profile's owner wants to hear of. SGP.22 §4.4.1. */
export type NotifiedEvent = 'install' | 'enable' | 'disable' | 'delete'

/** Whom to tell of what. */
interface NotificationTarget {
  readonly events: readonly NotifiedEvent[]
  readonly address: string
}

/** What the metadata of a profile says. SGP.22 §4.4, StoreMetadataRequest. */
export interface Metadata {
  /** 19 or 20 digits. */
  readonly iccid: string
  /** As it stands in the metadata: 10 octets with swapped digits. */
  readonly iccidOctets: Uint8Array
  readonly provider: string
  readonly name: string
  readonly profileClass: number
  readonly targets: readonly NotificationTarget[]
  /** Profile policy rules: bits of TS's BIT STRING, first octet. 0x80 is the reserved first bit. */
  readonly policyRules: number
  /** Mobile country and network code of the owner, digits; undefined when it is not given. */
  readonly ownerPlmn: string | undefined
}

const TAG = {
  iccid: 0x5a,
  provider: 0x91,
  name: 0x92,
  iconType: 0x93,
  icon: 0x94,
  profileClass: 0x95,
  targets: 0xb6,
  owner: 0xb7,
  policyRules: 0x99,
} as const
const ORDER: readonly number[] = Object.values(TAG)
const PROVIDER_OCTETS = 32
const NAME_OCTETS = 64
const ICON_OCTETS = 1024
const ADDRESS_OCTETS = 255
const OPERATIONAL = 2
const EVENT_BITS: Readonly<Record<NotifiedEvent, number>> = {
  install: 0x80,
  enable: 0x40,
  disable: 0x20,
  delete: 0x10,
}

/** Reads metadata (BF25) and holds it to the sizes and the order of SGP.22 §4.4. Throws `Refusal`, `TlvError`. */
export function readMetadata(text: Uint8Array): Metadata {
  const whole = readOne(text)
  if (whole.tag !== 0xbf25) throw wrong('is no StoreMetadataRequest')
  checkOrder(whole.children())
  const iccid = required(whole, TAG.iccid, 'ICCID')
  if (iccid.length !== 10) throw wrong('has an ICCID that is not 10 octets long')
  const profileClass = child(whole, TAG.profileClass)?.value[0] ?? OPERATIONAL
  if (profileClass > OPERATIONAL)
    throw new Refusal(BPP_ERROR.unsupportedProfileClass, `profile class ${profileClass} is not known`)
  checkIcon(whole)
  return {
    iccid: iccidDigits(nibblesSwapped(iccid)),
    iccidOctets: iccid,
    provider: textOf(required(whole, TAG.provider, 'provider'), PROVIDER_OCTETS, 'provider'),
    name: textOf(required(whole, TAG.name, 'name'), NAME_OCTETS, 'name'),
    profileClass,
    targets: (child(whole, TAG.targets)?.children() ?? []).map(targetOf),
    policyRules: child(whole, TAG.policyRules)?.value[1] ?? 0,
    ownerPlmn: ownerPlmn(child(whole, TAG.owner)),
  }
}

/** The digits of an ICCID of ten octets in reading order; the filler F is left out. Throws `Refusal`. ITU-T E.118. */
export function iccidDigits(octets: Uint8Array): string {
  const digits = toHex(octets).replace(/F$/, '')
  if (!/^[0-9]{18,20}$/.test(digits)) throw wrong('has an ICCID that is no number')
  return digits
}

/** The BIT STRING of one event. */
export function eventBits(event: NotifiedEvent): Uint8Array {
  const unused = { install: 7, enable: 6, disable: 5, delete: 4 } as const
  return Uint8Array.of(unused[event], EVENT_BITS[event])
}

/** The events of a BIT STRING. */
export function eventsFrom(bits: Uint8Array): readonly NotifiedEvent[] {
  const events: readonly NotifiedEvent[] = ['install', 'enable', 'disable', 'delete']
  return events.filter((event) => ((bits[1] ?? 0) & EVENT_BITS[event]) !== 0)
}

function checkOrder(parts: readonly Tlv[]): void {
  let last = -1
  for (const part of parts) {
    const at = ORDER.indexOf(part.tag)
    if (at === -1) continue
    if (at <= last) throw wrong('has its parts twice or in another order')
    last = at
  }
}

function checkIcon(whole: Tlv): void {
  const icon = child(whole, TAG.icon)?.value
  const type = child(whole, TAG.iconType)?.value
  if ((icon === undefined) !== (type === undefined))
    throw wrong('has an icon without its type, or a type without')
  if (type !== undefined && (type.length !== 1 || (type[0] ?? 0) > 1))
    throw wrong('has an icon of no known type')
  if ((icon?.length ?? 0) > ICON_OCTETS) throw wrong(`has an icon of more than ${ICON_OCTETS} octets`)
}

function targetOf(part: Tlv): NotificationTarget {
  const bits = child(part, 0x80)?.value
  const address = child(part, 0x81)?.value
  if (part.tag !== 0x30 || bits?.length !== 2 || address === undefined)
    throw wrong('has a notification address that is none')
  return { events: eventsFrom(bits), address: textOf(address, ADDRESS_OCTETS, 'notification address') }
}

function ownerPlmn(owner: Tlv | undefined): string | undefined {
  if (owner === undefined) return undefined
  const plmn = child(owner, 0x80)?.value
  if (plmn?.length !== 3) throw wrong('has an owner without a PLMN of three octets')
  const [one, two, three] = toHex(nibblesSwapped(plmn)).match(/../g) ?? []
  // TS 24.008 §10.5.1.13: the third digit of the network code stands in the second octet.
  const mnc3 = (two ?? '').at(1) ?? 'F'
  return `${one}${(two ?? '').at(0)}${three}${mnc3 === 'F' ? '' : mnc3}`
}

function required(whole: Tlv, tag: number, name: string): Uint8Array {
  const found = child(whole, tag)
  if (found === undefined) throw wrong(`has no ${name}`)
  return found.value
}

function textOf(octets: Uint8Array, maxOctets: number, name: string): string {
  const text = utf8From(octets, maxOctets)
  if (text === undefined) throw wrong(`has a ${name} that is no UTF-8 of at most ${maxOctets} octets`)
  return text
}

function wrong(what: string): Refusal {
  return new Refusal(BPP_ERROR.incorrectInputValues, `the metadata ${what}`)
}
