import type { HomeNetworkKey } from '@steeple/contracts'
import { tlv } from '@steeple/sgp22'
import { ELEMENT } from './elements.ts'
import { contentOf, FILE, recordLength, withContent, withRoomFor } from './files.ts'
import { type Step, withElements } from './steps.ts'
import { leaf, type Piece, partOf, withEach, withPart } from './tree.ts'

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
