import type { ProfileFacts } from '../parts.ts'
import { accessClass, codeOctets, iccidOctets, imsiOctets, plmnOctets, plmnOf, swapped } from './coding.ts'
import { ELEMENT } from './elements.ts'
import { contentOf, hasContents, withContent, withOctetsAt } from './files.ts'
import { ALGORITHM, SERVICES, withMilenage } from './services.ts'
import { branch, leaf, type Piece, partOf, withEach, without, withPart } from './tree.ts'

/**
 * SMS default alphabet by code, without its extension: the place of `ESC` is empty. TS 23.038 §6.2.1.
 */
const GSM =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ\0ÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?' +
  '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà'
const CODES: ReadonlyMap<string, number> = new Map(
  [...GSM].map((character, code) => [character, code] as const).filter(([character]) => character !== '\0'),
)
/** Octets of the name in EF.SPN, behind the display condition. TS 31.102 §4.2.12. */
const SPN_OCTETS = 16
/** Display condition: show the name of the network that the phone is on as well. TS 31.102 §4.2.12. */
const DISPLAY = 0x01

/** EF.SPN: display condition, and as much of `name` as there is room for. TS 31.102 §4.2.12. */
function spnOctets(name: string): Uint8Array {
  const octets = new Uint8Array(1 + SPN_OCTETS).fill(0xff)
  octets[0] = DISPLAY
  octets.set(alphaIdentifier(name, SPN_OCTETS), 1)
  return octets
}

/**
 * A name in at most `room` octets, in the coding that keeps the most of it: SMS default alphabet with bit 8 zero, or UCS2
 * with a base for a half page of it (`81`, `82`) or plain (`80`). Characters that UCS2 has not become `?`.
 * TS 102 221 annex A.
 */
export function alphaIdentifier(name: string, room: number): Uint8Array {
  const units = [...name].map((character) => (character.length === 1 ? character : '?')).map(codeUnit)
  const coded = [
    inGsm(units, room),
    withBase(units, room, 0x81),
    withBase(units, room, 0x82),
    plain(units, room),
  ]
  return coded.reduce((best, one) => (one.kept > best.kept ? one : best)).octets
}

interface Coded {
  readonly octets: Uint8Array
  /** Characters. */
  readonly kept: number
}

function codeUnit(character: string): number {
  return character.charCodeAt(0)
}

function inGsm(units: readonly number[], room: number): Coded {
  const codes: number[] = []
  for (const unit of units.slice(0, room)) {
    const code = CODES.get(String.fromCharCode(unit))
    if (code === undefined) break
    codes.push(code)
  }
  return { octets: Uint8Array.from(codes), kept: codes.length }
}

function plain(units: readonly number[], room: number): Coded {
  const kept = units.slice(0, Math.floor((room - 1) / 2))
  return {
    octets: Uint8Array.of(0x80, ...kept.flatMap((unit) => [unit >> 8, unit & 0xff])),
    kept: kept.length,
  }
}

/** A base and characters of which each is in the default alphabet or in the 128 from the base on. */
function withBase(units: readonly number[], room: number, coding: 0x81 | 0x82): Coded {
  const strange = units.find((unit) => !CODES.has(String.fromCharCode(unit)))
  // A base of one octet is 15 bits of which the last seven are zero.
  const isFar = coding === 0x81 && (strange ?? 0) > 0x7fff
  if (strange === undefined || isFar) return { octets: new Uint8Array(0), kept: 0 }
  const base = coding === 0x81 ? strange & 0x7f80 : lowest(units, strange)
  const head = coding === 0x81 ? [base >> 7] : [base >> 8, base & 0xff]
  const codes: number[] = []
  for (const unit of units.slice(0, room - 2 - head.length)) {
    const code = CODES.get(String.fromCharCode(unit)) ?? (isOn(unit, base) ? 0x80 | (unit - base) : undefined)
    if (code === undefined) break
    codes.push(code)
  }
  return { octets: Uint8Array.of(coding, codes.length, ...head, ...codes), kept: codes.length }
}

function isOn(unit: number, base: number): boolean {
  return unit >= base && unit < base + 0x80
}

/** The lowest base that has the first strange character and all that follow as long as they fit on one half page. */
function lowest(units: readonly number[], first: number): number {
  let low = first
  let high = first
  for (const unit of units) {
    if (CODES.has(String.fromCharCode(unit))) continue
    if (Math.max(high, unit) - Math.min(low, unit) >= 0x80) break
    low = Math.min(low, unit)
    high = Math.max(high, unit)
  }
  return low
}

/** One part of the work: what it gives has the facts in their place. `keep` is told of copies that must be wiped. */
export type Step = (elements: readonly Piece[], facts: ProfileFacts, keep: Keep) => readonly Piece[]
/** Gives back what it is given, and has it overwritten when the profile is written. */
export type Keep = (octets: Uint8Array) => Uint8Array

/** The elements with those of that tag changed. */
export function withElements(
  elements: readonly Piece[],
  tag: number,
  change: (element: Piece) => Piece,
): readonly Piece[] {
  return elements.map((element) => (element.tag === tag ? change(element) : element))
}

/** Whole octets of one. INTEGER of DER. X.690 §8.3. */
function integer(tag: number, value: number): Piece {
  return leaf(tag, Uint8Array.of(value))
}

/** Header and EF.ICCID. */
export const withIccid: Step = (elements, facts) => {
  const iccid = iccidOctets(facts.iccid)
  const header = withElements(elements, ELEMENT.header, (piece) => withPart(piece, leaf(0x83, iccid)))
  return withElements(header, ELEMENT.mf, (piece) =>
    withEach(piece, 0xa4, (file) => withContent(file, swapped(iccid))),
  )
}

/** EF.IMSI and EF.ACC. */
export const withImsi: Step = (elements, facts, keep) => {
  const imsi = keep(imsiOctets(facts.imsi))
  return withElements(elements, ELEMENT.usim, (piece) =>
    withEach(
      withEach(piece, 0xa3, (file) => withContent(file, imsi)),
      0xb2,
      (file) => withContent(file, accessClass(facts.imsi)),
    ),
  )
}

/** Milenage with its own constants, Ki and OPc, in every akaParameter, and in the list of services. TS 35.206 §4.1. */
export const withKeys: Step = (elements, facts) => {
  if (facts.ki.length !== 16 || facts.opc.length !== 16) throw new RangeError('Ki and OPc have 16 octets')
  const own = (piece: Piece): Piece =>
    withPart(
      withPart(
        // Constants of Milenage are the default of DER: they are not written.
        withPart(without(piece, 0x84, 0x85, 0x87), integer(0x80, ALGORITHM.milenage)),
        leaf(0x82, facts.ki),
      ),
      leaf(0x83, facts.opc),
    )
  const header = withElements(elements, ELEMENT.header, (piece) => withEach(piece, SERVICES, withMilenage))
  return withElements(header, ELEMENT.akaParameter, (piece) =>
    withEach(piece, 0xa1, (choice) => withEach(choice, 0xa1, own)),
  )
}

/** References of codes. TCA 3.3, PINKeyReferenceValue, PUKKeyReferenceValue; TS 102 221 §9.5.1. */
export const CODE = { pin1: 0x01, pin2: 0x81, adm1: 0x0a, adm2: 0x0b, puk1: 0x01, puk2: 0x81 } as const

/** PIN1, PIN2 and ADM1 in every pinCodes, PUK1 and PUK2 in pukCodes. One that is empty leaves what the template has. */
export const withCodes: Step = (elements, facts, keep) => {
  const pins = new Map<number, Uint8Array>()
  const puks = new Map<number, Uint8Array>()
  for (const [into, reference, name] of [
    [pins, CODE.pin1, 'pin1'],
    [pins, CODE.pin2, 'pin2'],
    [pins, CODE.adm1, 'adm1'],
    [puks, CODE.puk1, 'puk1'],
    [puks, CODE.puk2, 'puk2'],
  ] as const)
    if (facts[name].length > 0) into.set(reference, keep(codeOctets(facts[name], name)))
  return withPuks(withPins(elements, pins), puks)
}

/** The codes of that reference in every pinCodes. */
export function withPins(
  elements: readonly Piece[],
  codes: ReadonlyMap<number, Uint8Array>,
): readonly Piece[] {
  return withElements(elements, ELEMENT.pinCodes, (piece) =>
    withEach(piece, 0xa1, (choice) => withEach(choice, 0xa0, (list) => withValues(list, codes))),
  )
}

function withPuks(elements: readonly Piece[], codes: ReadonlyMap<number, Uint8Array>): readonly Piece[] {
  return withElements(elements, ELEMENT.pukCodes, (piece) =>
    withEach(piece, 0xa1, (list) => withValues(list, codes)),
  )
}

function withValues(list: Piece, codes: ReadonlyMap<number, Uint8Array>): Piece {
  return withEach(list, 0x30, (entry) => {
    const code = codes.get(partOf(entry, 0x80)?.value.at(-1) ?? 0)
    return code === undefined ? entry : withPart(entry, leaf(0x81, code))
  })
}

/** What TS.48 calls itself in the header: no word of it for a profile of people. */
const TEST_PROFILE = 'GSMA Generic eUICC Test Profile'

/** EF.SPN, and the type of the profile where the template's is that of the test profile. */
export const withProvider: Step = (elements, facts) => {
  const spn = spnOctets(facts.spn)
  const named = withElements(elements, ELEMENT.header, (piece) =>
    withEach(piece, 0x82, (type) =>
      Buffer.from(type.value).toString() === TEST_PROFILE ? leaf(0x82, Buffer.from(facts.spn)) : type,
    ),
  )
  return withElements(named, ELEMENT.usim, (piece) => withEach(piece, 0xad, (file) => withContent(file, spn)))
}

/** EF.AD of the USIM and of the ISIM: normal operation, and the digits of the MNC. TS 31.102 §4.2.18, TS 31.103 §4.2.5. */
export const withOperation: Step = (elements, facts) => {
  const usim = withElements(elements, ELEMENT.usim, (piece) => {
    const old = contentOf(partOf(piece, 0xb5)) ?? new Uint8Array(4)
    const octets = Uint8Array.from({ length: Math.max(4, old.length) }, (_, i) => old[i] ?? 0)
    octets[0] = 0
    octets[3] = facts.mncLength
    return withPart(piece, withContent(partOf(piece, 0xb5) ?? branch(0xb5, []), octets))
  })
  return withElements(usim, ELEMENT.isim, (piece) =>
    withEach(piece, 0xa7, (file) => withOctetsAt(file, 0, Uint8Array.of(0))),
  )
}

/** Access technologies of a home network: E-UTRAN and NG-RAN. TS 31.102 §4.2.5. */
const LTE_AND_NR = [0x48, 0x00] as const
/** Files that hold the network of the last registration, with the place of it. TS 31.102 §4.2.17, §4.2.23, §4.2.91, §4.4.11. */
const LOCATIONS: readonly (readonly [number, number, number])[] = [
  [ELEMENT.usim, 0xb1, 7],
  [ELEMENT.usim, 0xb4, 4],
  [ELEMENT['df-5gs'], 0xa3, 13],
  [ELEMENT['df-5gs'], 0xa4, 13],
]

/** First entry of EF.HPLMNwAcT, and the network in the location files, where the template has them. */
export const withNetwork: Step = (elements, facts) => {
  const { mcc, mnc } = plmnOf(facts.imsi, facts.mncLength)
  const plmn = plmnOctets(mcc, mnc)
  const entry = Uint8Array.of(...plmn, ...LTE_AND_NR)
  const home = withElements(elements, ELEMENT['opt-usim'], (piece) =>
    withEach(piece, 0xb1, (file) =>
      hasContents(file) ? withOctetsAt(file, 0, entry) : withContent(file, entry),
    ),
  )
  return LOCATIONS.reduce<readonly Piece[]>(
    (all, [tag, fileTag, start]) =>
      withElements(all, tag, (piece) => withEach(piece, fileTag, (file) => withOctetsAt(file, start, plmn))),
    home,
  )
}
