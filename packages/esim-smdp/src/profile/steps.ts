import type { HomeNetworkKey } from '@steeple/contracts'
import { tlv } from '@steeple/sgp22'
import {
  accessClass,
  codeOctets,
  iccidOctets,
  imsiOctets,
  plmnOctets,
  plmnOf,
  spnOctets,
  swapped,
} from '@steeple/telecom'
import type { ProfileFacts } from '../parts.ts'
import { ELEMENT } from './elements.ts'
import {
  contentOf,
  FILE,
  hasContents,
  recordLength,
  withContent,
  withOctetsAt,
  withRoomFor,
} from './files.ts'
import { ALGORITHM, SERVICES, withMilenage } from './read.ts'
import { branch, leaf, type Piece, partOf, withEach, without, withPart } from './tree.ts'

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

/** Of the USIM: EF.UST; of opt-usim: EF.MSISDN; of df-5gs and df-saip: EF.SUCI_Calc_Info, for the phone and for the USIM. */
const UST = 0xa8
const MSISDN = 0xa7
const SUCI_BY_PHONE = 0xa9
const SUCI_BY_USIM = 0xa3
/** Services of EF.UST. TS 31.102 §4.2.8. */
const SERVICE_MSISDN = 21
const SERVICE_SUCI = 124
/** Octets of EF.MSISDN behind its name, and of a record where the template of the specification says how many. */
const NUMBER_OCTETS = 14
const USUAL_RECORD = 24
const DIALLING_OCTETS = 10
/** International number, ISDN numbering plan. TS 24.008 §10.5.4.7. */
const INTERNATIONAL = 0x91

/**
 * EF.SUCI_Calc_Info: the schemes in the order of the keys, each with the place of its key, and the keys. TS 31.102 §4.4.11.8.
 * Empty without keys.
 */
export function suciOctets(keys: readonly HomeNetworkKey[]): Uint8Array {
  if (keys.length === 0) return new Uint8Array()
  const schemes = keys.flatMap(({ scheme }, i) => [scheme, i + 1])
  const list = keys.flatMap(({ id, publicKey }) => [tlv(0x80, Uint8Array.of(id)), tlv(0x81, publicKey)])
  return Uint8Array.from([...tlv(0xa0, Uint8Array.from(schemes)), ...tlv(0xa1, ...list)])
}

/** What a phone conceals the IMSI with, where the template has the files: by itself, and by the USIM where that is to do it. */
export const withSuci: Step = (elements, { suci }) => {
  const has = (tag: number, file: number): boolean =>
    elements.some((one) => one.tag === tag && partOf(one, file) !== undefined)
  if (suci === undefined || suci.length === 0 || !has(ELEMENT['df-5gs'], SUCI_BY_PHONE)) return elements
  const fill = (file: Piece): Piece => withRoomFor(file, suci)
  const byPhone = withElements(elements, ELEMENT['df-5gs'], (piece) => withEach(piece, SUCI_BY_PHONE, fill))
  const byUsim = withElements(byPhone, ELEMENT['df-saip'], (piece) => withEach(piece, SUCI_BY_USIM, fill))
  return withService(byUsim, SERVICE_SUCI)
}

/** EF.MSISDN, which phones show as the own number, where the SIM has one and the template the file. TS 31.102 §4.2.26. */
export const withNumber: Step = (elements, { msisdn }, keep) => {
  const isThere = elements.some((one) => partOf(one, MSISDN) !== undefined && one.tag === ELEMENT['opt-usim'])
  if (msisdn === undefined || !isThere) return elements
  const written = withElements(elements, ELEMENT['opt-usim'], (piece) =>
    withEach(piece, MSISDN, (file) => {
      const length = recordLength(file) ?? USUAL_RECORD
      return length < NUMBER_OCTETS ? file : withContent(file, keep(msisdnOctets(msisdn, length)))
    }),
  )
  return withService(written, SERVICE_MSISDN)
}

function msisdnOctets(digits: string, length: number): Uint8Array {
  const octets = new Uint8Array(length).fill(0xff)
  const pairs = digits.padEnd(digits.length + (digits.length % 2), 'f').match(/../g) ?? []
  const dialling = pairs
    .slice(0, DIALLING_OCTETS)
    .map(([low = 'f', high = 'f']) => Number.parseInt(high + low, 16))
  octets.set([1 + dialling.length, INTERNATIONAL, ...dialling], length - NUMBER_OCTETS)
  return octets
}

/** The same with a service of EF.UST available. */
function withService(elements: readonly Piece[], service: number): readonly Piece[] {
  const [at, bit] = [(service - 1) >> 3, 1 << ((service - 1) & 7)]
  return withElements(elements, ELEMENT.usim, (piece) =>
    withEach(piece, UST, (file) => {
      const old = contentOf(file)
      if (old === undefined) return file
      const octets = Uint8Array.from({ length: Math.max(old.length, at + 1) }, (_, i) => old[i] ?? 0)
      octets[at] = (octets[at] ?? 0) | bit
      return withPart(file, leaf(FILE.content, octets))
    }),
  )
}
