import { readAll, type Tlv, TlvError } from '@steeple/sgp22'
import type { ProfileVersion } from '../parts.ts'
import {
  CAPABILITY_BIT,
  ELEMENT,
  type ElementName,
  elementName,
  hexTag,
  partName,
  SERVICE,
  type ServiceName,
} from './elements.ts'
import { branch, headLength, leaf, type Piece, partAt, partOf } from './tree.ts'

/** What is wrong in a template, and where. */
interface TemplateFault {
  /** Offset of the object that is wrong, in octets from the start of the file. */
  readonly offset: number
  /** Where that is, in words: `usim (element 8) / ef-imsi / fillFileContent`. */
  readonly path: string
  /** What is wrong there. */
  readonly what: string
}

/** A profile template that is of no use. */
export class TemplateError extends Error implements TemplateFault {
  readonly offset: number
  readonly path: string
  readonly what: string

  constructor(fault: TemplateFault, options?: ErrorOptions) {
    super(`offset ${fault.offset}, ${fault.path}: ${fault.what}`, options)
    this.name = 'TemplateError'
    this.offset = fault.offset
    this.path = fault.path
    this.what = fault.what
  }
}

/** A profile element and where it stands. */
export interface ProfileElement {
  readonly name: ElementName
  /** From 1. */
  readonly number: number
  readonly piece: Piece
}

/** Bound on what is read: the largest profiles of operators have a tenth of it. */
export const MAX_TEMPLATE_OCTETS: number = 512 * 1024
const CONSTRUCTED = 0x20
const NAMES_OF_A_FILE: Readonly<Record<number, string>> = {
  128: 'doNotCreate',
  161: 'fileDescriptor',
  130: 'fillFileOffset',
  131: 'fillFileContent',
}

/** The elements of a profile, every object of them read. Throws `TemplateError` for what is no DER. X.690 §10. */
export function readElements(octets: Uint8Array): readonly ProfileElement[] {
  if (octets.length === 0) throw new TemplateError({ offset: 0, path: 'the file', what: 'is empty' })
  if (octets.length > MAX_TEMPLATE_OCTETS)
    throw new TemplateError({
      offset: 0,
      path: 'the file',
      what: `has more than ${MAX_TEMPLATE_OCTETS} octets`,
    })
  return within('the file', () => readAll(octets)).map((object, i) => elementOf(object, i + 1))
}

/** Words for an element: `usim (element 8)`. */
export function placeOf({ name, number }: ProfileElement): string {
  return `${name} (element ${number})`
}

function elementOf(object: Tlv, number: number): ProfileElement {
  const name = elementName(object.tag)
  if (name === undefined)
    throw new TemplateError({
      offset: object.at,
      path: `element ${number}`,
      what: `tag ${hexTag(object.tag)} is no profile element`,
    })
  const place = `${name} (element ${number})`
  const words = (tag: number, depth: number): string => wordsFor(name, tag, depth)
  return { name, number, piece: pieceOf(object, place, 0, words) }
}

function wordsFor(element: ElementName, tag: number, depth: number): string {
  if (depth === 0) return partName(element, tag)
  return (depth === 1 ? NAMES_OF_A_FILE[tag] : undefined) ?? hexTag(tag)
}

function pieceOf(
  object: Tlv,
  path: string,
  depth: number,
  words: (tag: number, depth: number) => string,
): Piece {
  const { tag, at, raw, value } = object
  const shortest = headLength(tag, value.length) + value.length
  if (raw.length !== shortest)
    throw new TemplateError({ offset: at, path, what: 'its length is not in the shortest form' })
  if (((raw[0] ?? 0) & CONSTRUCTED) === 0) return { tag, at, raw, value, parts: undefined }
  const parts = within(path, () => object.children()).map((part) =>
    pieceOf(part, `${path} / ${words(part.tag, depth)}`, depth + 1, words),
  )
  return { tag, at, raw, value, parts }
}

function within<T>(path: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    if (cause instanceof TlvError)
      throw new TemplateError({ offset: cause.at, path, what: cause.what }, { cause })
    throw cause
  }
}

/** The header of an element: its `A0`, where the profile's own header has its service list and more. */
function headerOf({ name, piece }: ProfileElement): Piece | undefined {
  return name === 'header' ? undefined : partOf(piece, 0xa0)
}

/** A whole number out of the value of an INTEGER; undefined when it is none of at most six octets. X.690 §8.3. */
export function integerOf(piece: Piece | undefined): number | undefined {
  const value = piece?.value
  if (value === undefined || value.length === 0 || value.length > 6 || (value[0] ?? 0) >= 0x80)
    return undefined
  return value.reduce((sum, octet) => sum * 256 + octet, 0)
}

/** Where a header has its services. TCA 3.3, ProfileHeader. */
export const SERVICES = 0xa5
/** Algorithms of an akaParameter. TCA 3.3, AlgoParameter. */
export const ALGORITHM = { milenage: 1, tuak: 2, test: 3 } as const
const NOTHING = new Uint8Array(0)

/** Algorithm and length of the key in octets of each akaParameter that has its own. */
export function algorithmsOf(
  elements: readonly ProfileElement[],
): readonly { readonly id: number | undefined; readonly keyOctets: number }[] {
  return elements
    .filter(({ piece }) => piece.tag === ELEMENT.akaParameter)
    .map(({ piece }) => partAt(piece, 0xa1, 0xa1))
    .filter((algorithm) => algorithm !== undefined)
    .map((algorithm) => ({
      id: integerOf(partOf(algorithm, 0x80)),
      keyOctets: partOf(algorithm, 0x82)?.value.length ?? 0,
    }))
}

/** Why the mandatory services and the elements do not go together, in words; undefined when they do. */
export function serviceProblem(elements: readonly ProfileElement[]): string | undefined {
  const [header] = elements
  const list = partOf(header?.piece, SERVICES)
  const has = (service: ServiceName): boolean => partOf(list, SERVICE[service]) !== undefined
  const hasElement = (tag: number): boolean => elements.some(({ piece }) => piece.tag === tag)
  const algorithms = algorithmsOf(elements)
  const tuak = (octets: number): boolean =>
    algorithms.some(({ id, keyOctets }) => id === ALGORITHM.tuak && keyOctets === octets)
  const uses = (id: number): boolean => algorithms.some((one) => one.id === id)
  const isNaa = has('usim') || has('isim')
  const rules: readonly (readonly [ServiceName, boolean, string])[] = [
    ['usim', hasElement(ELEMENT.usim), 'no usim'],
    ['isim', hasElement(ELEMENT.isim), 'no isim'],
    ['csim', hasElement(ELEMENT.csim), 'no csim'],
    ['milenage', uses(ALGORITHM.milenage), 'no akaParameter with Milenage'],
    ['tuak128', tuak(16), 'no akaParameter with TUAK and a key of 16 octets'],
    ['tuak256', tuak(32), 'no akaParameter with TUAK and a key of 32 octets'],
    ['usim-test-algorithm', uses(ALGORITHM.test), 'no akaParameter with the test algorithm'],
    ['cave', hasElement(ELEMENT.cdmaParameter), 'no cdmaParameter'],
    ['gba-usim', has('usim'), 'no service usim'],
    ['gba-isim', has('isim'), 'no service isim'],
    ['multiple-usim', has('usim'), 'no service usim'],
    ['multiple-isim', has('isim'), 'no service isim'],
    ['multiple-csim', has('csim'), 'no service csim'],
    ['get-identity', isNaa, 'no service usim or isim'],
    ['profile-a-x25519', isNaa, 'no service usim or isim'],
    ['profile-b-p256', isNaa, 'no service usim or isim'],
  ]
  const broken = rules.find(([service, isKept]) => has(service) && !isKept)
  return broken && `the service ${broken[0]} is mandatory, and there is ${broken[2]}`
}

/** The list with Milenage instead of the other algorithms of an USIM, in ascending order. */
export function withMilenage(list: Piece): Piece {
  const others: readonly number[] = [SERVICE.tuak128, SERVICE.tuak256, SERVICE['usim-test-algorithm']]
  const kept = list.parts?.filter(({ tag }) => tag !== SERVICE.milenage && !others.includes(tag)) ?? []
  const all = [...kept, leaf(SERVICE.milenage, NOTHING)]
  return branch(
    list.tag,
    all.sort((a, b) => a.tag - b.tag),
  )
}

/** The version that a header says. */
export function versionOf([header]: readonly ProfileElement[]): ProfileVersion {
  return [integerOf(partOf(header?.piece, 0x80)) ?? 0, integerOf(partOf(header?.piece, 0x81)) ?? 0]
}

/** Bits of UICCCapability for what profiles of this template demand of an eUICC: their mandatory services. */
export function neededCapabilities(elements: readonly ProfileElement[]): readonly number[] {
  const [header] = elements
  const list = partOf(header?.piece, SERVICES)
  if (list === undefined) return []
  const demanded = withMilenage(list).parts?.map(({ tag }) => tag) ?? []
  return Object.entries(CAPABILITY_BIT).flatMap(([name, bit]) =>
    // Its keys are names of services.
    demanded.includes(SERVICE[name as ServiceName]) ? [bit] : [],
  )
}

/** The identification in the header of an element; undefined when it has none. */
export function identificationOf(element: ProfileElement): number | undefined {
  return integerOf(partOf(headerOf(element), 0x81))
}
