import type { ProfileVersion } from '../parts.ts'
import { CAPABILITY_BIT, ELEMENT, SERVICE, type ServiceName } from './elements.ts'
import { headerOf, integerOf, type ProfileElement } from './read.ts'
import { branch, leaf, type Piece, partAt, partOf } from './tree.ts'

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
