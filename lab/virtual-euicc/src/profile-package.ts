import { child, readAll, type Tlv, TlvError } from '@steeple/sgp22'
import { BPP_ERROR, Refusal } from './codes.ts'
import { iccidDigits } from './metadata.ts'
import { isSame, nibblesSwapped, toHex } from './octets.ts'

/** What a phone needs out of a profile that was installed. */
export interface ProfileContent {
  /** 19 or 20 digits, out of the header. */
  readonly iccid: string
  /** 6 to 15 digits, out of EF.IMSI of the USIM. */
  readonly imsi: string
  readonly algorithm: 'milenage' | 'tuak' | 'test'
  readonly ki: Uint8Array
  readonly opc: Uint8Array
  /** Digits of the network code, out of EF.AD. */
  readonly mncLength: number
  /** Access classes, out of EF.ACC. */
  readonly accessClasses: number
}

/** Tags of profile elements. TCA eUICC Profile Package 3.3.1, ProfileElement. */
const ELEMENT = {
  header: 0xa0,
  pinCodes: 0xa2,
  pukCodes: 0xa3,
  aka: 0xa4,
  end: 0xaa,
  mf: 0xb0,
  usim: 0xb3,
  optUsim: 0xb4,
  isim: 0xb5,
  optIsim: 0xb6,
} as const
/** Elements that belong to a USIM that stands before them. */
const AFTER_USIM: readonly number[] = [ELEMENT.optUsim, 0xb7, 0xb8, 0xbc, 0xbd]
/** Services that a header may demand, by tag: milenage, tuak128, tuak256, usim-test-algorithm. TCA §8.1.1, ServicesList. */
const SERVICE_ALGORITHMS: Readonly<Record<number, number>> = {
  132: 1,
  133: 2,
  144: 2,
  145: 3,
}
const ALGORITHMS: Readonly<Record<number, ProfileContent['algorithm']>> = {
  1: 'milenage',
  2: 'tuak',
  3: 'test',
}
const FILE_OCTETS_MAX = 65_536

/**
 * Reads a decrypted profile package and holds it to what an eUICC needs to install it.
 * Throws `Refusal` (`peProcessingError`). Source: TCA eUICC Profile Package: Interoperable Format 3.3.1.
 */
export function readProfilePackage(text: Uint8Array): ProfileContent {
  try {
    return contentOf(readAll(text))
  } catch (error) {
    if (error instanceof TlvError) throw wrong(`cannot be read: ${error.message}`, { cause: error })
    throw error
  }
}

/** Refuses a package that is newer than an eUICC of that version knows: as some do with its elements. Throws `Refusal`. */
export function checkVersion(text: Uint8Array, [ownMajor, ownMinor]: readonly number[]): void {
  const [header] = readAll(text)
  const [major = 0, minor = 0] = [0x80, 0x81].map((tag) => header && child(header, tag)?.value[0])
  if (major > (ownMajor ?? 0) || (major === ownMajor && minor > (ownMinor ?? 0)))
    throw wrong(`is of version ${major}.${minor}, and this eUICC knows ${ownMajor}.${ownMinor}`)
}

function contentOf(elements: readonly Tlv[]): ProfileContent {
  const [header, mf] = elements
  if (header?.tag !== ELEMENT.header) throw wrong('does not begin with its header')
  if (mf?.tag !== ELEMENT.mf) throw wrong('has no master file behind its header')
  if (elements.at(-1)?.tag !== ELEMENT.end) throw wrong('does not end with its end')
  checkOrder(elements)
  const iccid = child(header, 0x83)?.value
  if (iccid?.length !== 10) throw wrong('has a header without an ICCID of 10 octets')
  if (!isSame(nibblesSwapped(iccid), fileContent(child(mf, 0xa4), 'EF.ICCID')))
    throw wrong('has an EF.ICCID that is not the ICCID of its header')
  const usim = elements.find((element) => element.tag === ELEMENT.usim)
  if (usim === undefined) throw wrong('has no USIM')
  const keys = elements.filter((element) => element.tag === ELEMENT.aka).map(akaOf)
  const [first] = keys
  if (first === undefined) throw wrong('has no keys')
  checkServices(header, keys)
  const accessClasses = fileContent(child(usim, 0xb2), 'EF.ACC')
  return {
    iccid: iccidDigits(iccid),
    imsi: imsiFrom(fileContent(child(usim, 0xa3), 'EF.IMSI')),
    ...first,
    mncLength: mncLengthOf(usim),
    accessClasses: ((accessClasses[0] ?? 0) << 8) | (accessClasses[1] ?? 0),
  }
}

function checkOrder(elements: readonly Tlv[]): void {
  const seen = new Set<string>()
  let hasUsim = false
  for (const [index, element] of elements.entries()) {
    if (index > 0 && element.tag === ELEMENT.header) throw wrong('has two headers')
    if (element.tag === ELEMENT.usim) hasUsim = true
    if (AFTER_USIM.includes(element.tag) && !hasUsim) throw wrong('has parts of a USIM before the USIM')
    const id = identificationOf(element)
    if (id === undefined) continue
    if (seen.has(id)) throw wrong(`has two elements ${id}`)
    seen.add(id)
  }
}

/** Each element but the header begins with one: A0 {mandated, identification}; those of a file system too. */
function identificationOf(element: Tlv): string | undefined {
  if (element.tag === ELEMENT.header) return undefined
  const [first] = element.children()
  const id = first?.tag === 0xa0 ? child(first, 0x81) : undefined
  if (id === undefined) throw wrong('has an element without its own header')
  return toHex(id.value)
}

interface Aka {
  readonly algorithm: ProfileContent['algorithm']
  readonly ki: Uint8Array
  readonly opc: Uint8Array
}

function akaOf(element: Tlv): Aka {
  const parameters = child(element, 0xa1)
  const algo = parameters === undefined ? undefined : child(parameters, 0xa1)
  if (algo === undefined) throw wrong('has keys without an algorithm')
  const id = child(algo, 0x80)?.value[0] ?? 0
  const algorithm = ALGORITHMS[id]
  const ki = child(algo, 0x82)?.value
  const opc = child(algo, 0x83)?.value
  if (algorithm === undefined) throw wrong(`has keys of algorithm ${id}, which is not known`)
  if (ki === undefined || opc === undefined) throw wrong('has keys without K or OPc')
  const isTuak = algorithm === 'tuak'
  if (isTuak ? ki.length !== 16 && ki.length !== 32 : ki.length !== 16)
    throw wrong('has a K of a wrong length')
  if (opc.length !== (isTuak ? 32 : 16)) throw wrong('has an OPc of a wrong length')
  return { algorithm, ki, opc }
}

function checkServices(header: Tlv, keys: readonly Aka[]): void {
  const services = child(header, 0xa5)?.children() ?? []
  for (const service of services) {
    const demanded = SERVICE_ALGORITHMS[service.tag]
    const name = demanded === undefined ? undefined : ALGORITHMS[demanded]
    if (name !== undefined && !keys.some((key) => key.algorithm === name))
      throw wrong(`demands ${name} and has no keys for it`)
  }
  for (const { algorithm } of keys)
    if (!services.some((service) => ALGORITHMS[SERVICE_ALGORITHMS[service.tag] ?? 0] === algorithm))
      throw wrong(`has keys for ${algorithm} and does not demand it`)
}

/** The octets of a file: contents (83), each behind the offset (82) that goes before it. TCA §8.2.4, File. */
function fileContent(file: Tlv | undefined, name: string): Uint8Array {
  if (file === undefined) throw wrong(`has no ${name}`)
  const found: number[] = []
  for (const part of file.children()) {
    if (part.tag === 0x82) {
      const offset = part.value.reduce((sum, octet) => sum * 256 + octet, 0)
      if (found.length + offset > FILE_OCTETS_MAX) throw wrong(`has an offset in ${name} that is too far`)
      for (let i = 0; i < offset; i++) found.push(0xff)
    }
    if (part.tag === 0x83) found.push(...part.value)
  }
  if (found.length === 0) throw wrong(`has nothing in ${name}`)
  return Uint8Array.from(found)
}

/** The digits of EF.IMSI: length, then swapped digits behind one of parity. TS 31.102 §4.2.2. */
function imsiFrom(file: Uint8Array): string {
  const octets = file[0] ?? 0
  const text = toHex(nibblesSwapped(file.subarray(1, 1 + octets)))
  const isOdd = text[0] === '9'
  const digits = isOdd ? text.slice(1) : text.slice(1, -1)
  if (octets > 8 || (text[0] !== '9' && text[0] !== '1') || !/^[0-9]{6,15}$/.test(digits))
    throw wrong('has an EF.IMSI that holds no IMSI')
  return digits
}

/** The last octet of EF.AD. TS 31.102 §4.2.18. */
function mncLengthOf(usim: Tlv): number {
  const file = fileContent(child(usim, 0xb5), 'EF.AD')
  return (file[3] ?? 0) & 0x0f
}

function wrong(what: string, options?: ErrorOptions): Refusal {
  return new Refusal(BPP_ERROR.peProcessingError, `the profile ${what}`, options)
}
