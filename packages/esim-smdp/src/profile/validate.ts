import { ELEMENT, type ElementName, hexTag, isOfFiles, partName } from './elements.ts'
import { contentOf, FILE, reachOf, sizeOf } from './files.ts'
import { integerOf, type ProfileElement, placeOf } from './read.ts'
import { algorithmsOf, identificationOf, SERVICES, serviceProblem } from './services.ts'
import { TemplateError } from './template-error.ts'
import { type Piece, partAt, partOf } from './tree.ts'

/** Elements of which a profile has at most one. */
const ONCE: readonly ElementName[] = [
  ...(['header', 'end', 'mf', 'cd', 'telecom', 'usim', 'isim', 'csim', 'opt-usim', 'opt-isim'] as const),
  ...(['opt-csim', 'df-5gs', 'df-saip', 'df-snpn', 'df-5gprose', 'pukCodes', 'cdmaParameter'] as const),
]
/** Elements that make files under another, or say something of it: which one must come before. TCA 3.3 §8. */
const AFTER: readonly (readonly [ElementName, readonly ElementName[]])[] = [
  ['opt-usim', ['usim']],
  ['phonebook', ['usim']],
  ['gsm-access', ['usim']],
  ['df-5gs', ['usim']],
  ['df-saip', ['usim']],
  ['df-snpn', ['usim']],
  ['df-5gprose', ['usim']],
  ['opt-isim', ['isim']],
  ['opt-csim', ['csim']],
  ['cdmaParameter', ['csim']],
  ['akaParameter', ['usim', 'isim']],
]
/** Identifications are numbers of 15 bits. TCA 3.3, PEHeader. */
const MAX_IDENTIFICATION = 32_767

/** Throws `TemplateError` for the first thing in which a profile cannot serve as a template. */
export function validate(elements: readonly ProfileElement[]): void {
  checkEnds(elements)
  checkOnce(elements)
  checkAfter(elements)
  checkIdentifications(elements)
  for (const element of elements) if (isOfFiles(element.name)) checkFiles(element)
  for (const element of elements) checkCodes(element)
  checkHeader(elements)
  checkNeeded(elements)
}

function fail(element: ProfileElement, what: string, piece?: Piece, ...path: readonly string[]): never {
  const place = [placeOf(element), ...path].join(' / ')
  throw new TemplateError({ offset: piece?.at ?? element.piece.at, path: place, what })
}

function checkEnds(elements: readonly ProfileElement[]): void {
  const [first, second] = elements
  const last = elements.at(-1)
  if (first === undefined || last === undefined)
    throw new TemplateError({ offset: 0, path: 'the file', what: 'is empty' })
  if (first.name !== 'header') fail(first, 'the first element must be the header')
  if (second?.name !== 'mf') fail(second ?? first, 'the second element must be mf')
  if (last.name !== 'end') fail(last, 'the last element must be end')
}

function checkOnce(elements: readonly ProfileElement[]): void {
  for (const name of ONCE) {
    const [, second] = elements.filter((element) => element.name === name)
    if (second !== undefined) fail(second, `there is a ${name} already`)
  }
}

function checkAfter(elements: readonly ProfileElement[]): void {
  for (const [name, needs] of AFTER) {
    const first = elements.find((element) => element.name === name)
    const isBehind = elements.some((one) => needs.includes(one.name) && one.number < (first?.number ?? 0))
    if (first !== undefined && !isBehind) fail(first, `must come after ${needs.join(' or ')}`)
  }
}

function checkIdentifications(elements: readonly ProfileElement[]): void {
  const seen = new Map<number, ProfileElement>()
  for (const element of elements) {
    if (element.name === 'header') continue
    const id = identificationOf(element)
    const header = partOf(element.piece, 0xa0)
    if (id === undefined || id > MAX_IDENTIFICATION) fail(element, 'its header has no identification', header)
    const other = seen.get(id)
    if (other !== undefined) fail(element, `has the identification ${id} of ${placeOf(other)}`, header)
    seen.set(id, element)
  }
}

/** All behind header and template id are files. TCA 3.3, File. */
function checkFiles(element: ProfileElement): void {
  const [header, template, ...files] = element.piece.parts ?? []
  if (header?.tag !== 0xa0) fail(element, 'must begin with its header', header)
  if (template?.tag !== 0x81) fail(element, 'must have a template id behind its header', template)
  let last = 0
  for (const file of files) {
    const name = partName(element.name, file.tag)
    if (file.parts === undefined) fail(element, 'is no file', file, name)
    if (file.tag <= last) fail(element, 'is twice there or in the wrong place', file, name)
    last = file.tag
    checkFile(element, file, name)
  }
}

function checkFile(element: ProfileElement, file: Piece, name: string): void {
  const known: readonly number[] = Object.values(FILE)
  const parts = file.parts ?? []
  for (const [i, part] of parts.entries()) {
    if (!known.includes(part.tag)) fail(element, 'is no part of a file', part, name)
    if (part.tag === FILE.doNotCreate && parts.length > 1)
      fail(element, 'doNotCreate must stand alone', part, name)
    if (part.tag === FILE.descriptor && i > 0) fail(element, 'the descriptor must come first', part, name)
  }
  const size = sizeOf(file)
  const reach = reachOf(file)
  if (size !== undefined && reach > size)
    fail(element, `is filled up to octet ${reach}, and its size is ${size}`, file, name)
}

/** Codes have a reference and eight octets; pinCodes may share those of another directory instead. TCA 3.3 §8.5. */
function checkCodes(element: ProfileElement): void {
  const { name, piece } = element
  if (name !== 'pinCodes' && name !== 'pukCodes') return
  const choice = partOf(piece, 0xa1)
  if (name === 'pinCodes' && partOf(choice, 0x81) !== undefined) return
  const codes = name === 'pinCodes' ? partOf(choice, 0xa0) : choice
  if (codes === undefined || codes.parts?.length === 0) fail(element, 'has no codes', choice)
  for (const code of codes.parts ?? []) {
    const reference = integerOf(partOf(code, 0x80))
    if (code.tag !== 0x30 || reference === undefined) fail(element, 'a code has no reference', code)
    if (partOf(code, 0x81)?.value.length !== 8)
      fail(element, `code ${hexTag(reference)} must have 8 octets`, code)
  }
}

function checkHeader(elements: readonly ProfileElement[]): void {
  const [header] = elements
  if (header === undefined) return
  for (const [tag, name] of [
    [0x80, 'major version'],
    [0x81, 'minor version'],
    [0x83, 'ICCID'],
    [SERVICES, 'list of mandatory services'],
    [0xa6, 'list of mandatory file templates'],
  ] as const)
    if (partOf(header.piece, tag) === undefined) fail(header, `has no ${name}`)
  const iccid = partOf(header.piece, 0x83)
  if (iccid?.value.length !== 10) fail(header, 'the ICCID must have 10 octets', iccid)
  const problem = serviceProblem(elements)
  if (problem !== undefined) fail(header, problem, partOf(header.piece, SERVICES))
}

/** What is written into every profile must have its place. */
function checkNeeded(elements: readonly ProfileElement[]): void {
  const usim = elements.find(({ name }) => name === 'usim')
  const mf = elements.find(({ name }) => name === 'mf')
  const last = elements.at(-1)
  if (last === undefined || mf === undefined) return
  if (usim === undefined) fail(last, 'there is no usim')
  const needs: readonly (readonly [ProfileElement, string, number, number])[] = [
    [mf, 'ef-iccid', 0xa4, 10],
    [usim, 'ef-imsi', 0xa3, 9],
    [usim, 'ef-acc', 0xb2, 2],
    [usim, 'ef-spn', 0xad, 17],
  ]
  for (const [element, name, tag, octets] of needs) {
    const file = partOf(element.piece, tag)
    if (file === undefined) fail(element, `has no ${name}`)
    const size = contentOf(file)?.length ?? octets
    if (partOf(file, FILE.doNotCreate) !== undefined || size > octets)
      fail(element, `must have ${octets} octets`, file, name)
  }
  if (algorithmsOf(elements).length === 0) fail(last, 'there is no akaParameter with keys of its own')
  for (const element of elements) if (element.piece.tag === ELEMENT.akaParameter) checkAlgorithm(element)
}

function checkAlgorithm(element: ProfileElement): void {
  const choice = partOf(element.piece, 0xa1)
  const own = partAt(element.piece, 0xa1, 0xa1)
  if (own === undefined) {
    if (partOf(choice, 0xa0) === undefined) fail(element, 'has neither keys nor whose keys it shares', choice)
    return
  }
  for (const [tag, name] of [
    [0x80, 'algorithm'],
    [0x81, 'options'],
    [0x82, 'key'],
    [0x83, 'OPc'],
  ] as const)
    if (partOf(own, tag) === undefined) fail(element, `has no ${name}`, own)
}
