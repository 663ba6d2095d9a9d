import { createHmac, createSecretKey } from 'node:crypto'
import { plmnOf } from '@steeple/telecom'
import type { ProfileFacts, ProfileTemplate, ProfileVersion } from '../parts.ts'
import { ELEMENT, type ElementName, hexTag, isOfFiles, partName, SERVICE } from './elements.ts'
import { contentOf, FILE, reachOf, sizeOf, withRecord, withRoomFor } from './files.ts'
import {
  algorithmsOf,
  identificationOf,
  integerOf,
  neededCapabilities,
  type ProfileElement,
  placeOf,
  readElements,
  SERVICES,
  serviceProblem,
  TemplateError,
  versionOf,
} from './read.ts'
import {
  CODE,
  type Keep,
  type Step,
  withCodes,
  withElements,
  withIccid,
  withImsi,
  withKeys,
  withNetwork,
  withNumber,
  withOperation,
  withPins,
  withProvider,
  withSuci,
} from './steps.ts'
import {
  branch,
  leaf,
  type Piece,
  partAt,
  partOf,
  settled,
  withEach,
  without,
  withPart,
  written,
} from './tree.ts'

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
function validate(elements: readonly ProfileElement[]): void {
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

/** Elements that open a directory of their own: what follows says something of it. */
const OPENERS: readonly number[] = [ELEMENT.mf, ELEMENT.telecom, ELEMENT.usim, ELEMENT.isim, ELEMENT.csim]
/** CSIM (3GPP2), and the directory for a SUCI that the USIM calculates. */
const NEEDLESS: readonly number[] = [
  ELEMENT.csim,
  ELEMENT['opt-csim'],
  ELEMENT.cdmaParameter,
  ELEMENT['df-saip'],
]
/** File templates of those, without the arc that all share. TCA 3.3 annex. */
const NEEDLESS_TEMPLATES: readonly number[] = [0x0a, 0x0b, 0x0e]
/** List of mandatory file templates in a header. TCA 3.3, ProfileHeader. */
const FILE_TEMPLATES = 0xa6
/** How AIDs of 3GPP2 begin. TS 101 220 annex. */
const RID_3GPP2 = Uint8Array.of(0xa0, 0x00, 0x00, 0x03, 0x43)
/** EF.DIR of the MF, EF.UST of the USIM. */
const DIR = 0xa5
const UST = 0xa8
/** Services of EF.UST, by octet: 124 and 125, SUCI by the phone and by the USIM; 122 to 126 and 129 to 136, files of 5G. TS 31.102 §4.2.8. */
const SUCI: ReadonlyMap<number, number> = new Map([[15, 0x18]])
const OF_5G: ReadonlyMap<number, number> = new Map([
  [15, 0x3e],
  [16, 0xff],
])
/** The version before profiles had files of 5G. TCA 2.1. */
const VERSION_BEFORE_5G = 1
const TEMPLATE_5G = 0x0d

/**
 * The template without what no network of this kind uses, so that an eUICC need not have it: CSIM, and SUCI by the USIM, which
 * phones calculate by themselves (`withSuci`; the null scheme without a key, TS 33.501 §6.12.2). An eUICC refuses a profile whose
 * mandatory services and file templates it has not. It is smaller by a third.
 */
function lean(elements: readonly ProfileElement[]): readonly ProfileElement[] {
  let opened = 0
  return elements.flatMap((element) => {
    const { piece } = element
    if (OPENERS.includes(piece.tag)) opened = piece.tag
    const isOfCsim = piece.tag === ELEMENT.pinCodes && opened === ELEMENT.csim
    return NEEDLESS.includes(piece.tag) || isOfCsim ? [] : [{ ...element, piece: leanPiece(piece) }]
  })
}

function leanPiece(piece: Piece): Piece {
  if (piece.tag === ELEMENT.header) return leanHeader(piece)
  if (piece.tag === ELEMENT.mf) return withEach(piece, DIR, withoutCsimEntry)
  if (piece.tag === ELEMENT.usim) return withoutServices(piece, SUCI)
  return piece
}

/** The same for eUICCs that know no files of 5G: a phone has LTE by it, and 5G without concealing the IMSI. */
function without5g(elements: readonly ProfileElement[]): readonly ProfileElement[] {
  return elements
    .filter(({ piece }) => piece.tag !== ELEMENT['df-5gs'])
    .map((element) => ({ ...element, piece: pieceWithout5g(element.piece) }))
}

function pieceWithout5g(piece: Piece): Piece {
  if (piece.tag === ELEMENT.usim) return withoutServices(piece, OF_5G)
  if (piece.tag !== ELEMENT.header) return piece
  return withoutTemplates(withPart(piece, leaf(0x81, Uint8Array.of(VERSION_BEFORE_5G))), [TEMPLATE_5G])
}

function withoutServices(usim: Piece, services: ReadonlyMap<number, number>): Piece {
  return withEach(usim, UST, (file) =>
    withEach(file, FILE.content, ({ tag, value }) =>
      leaf(
        tag,
        value.map((octet, i) => octet & ~(services.get(i) ?? 0)),
      ),
    ),
  )
}

function leanHeader(header: Piece): Piece {
  const services = withEach(header, SERVICES, (list) =>
    without(
      list,
      ...[SERVICE.csim, SERVICE.cave, SERVICE['get-identity']],
      ...[SERVICE['profile-a-x25519'], SERVICE['profile-b-p256']],
    ),
  )
  return withoutTemplates(services, NEEDLESS_TEMPLATES)
}

function withoutTemplates(header: Piece, templates: readonly number[]): Piece {
  return withEach(header, FILE_TEMPLATES, (list) => {
    const parts = list.parts ?? []
    return branch(
      list.tag,
      parts.filter(({ value }) => !templates.includes(value.at(-1) ?? 0)),
    )
  })
}

/** EF.DIR without the application of CSIM, and without the gap before it: it is the last one. */
function withoutCsimEntry(file: Piece): Piece {
  const parts = file.parts ?? []
  const at = parts.findIndex(
    ({ tag, value }) => tag === FILE.content && Buffer.from(value).includes(Buffer.from(RID_3GPP2)),
  )
  if (at < 0) return file
  const gap = parts[at - 1]?.tag === FILE.offset ? 1 : 0
  return branch(file.tag, parts.toSpliced(at - gap, 1 + gap))
}

/**
 * Secrets of the template that are nobody's in particular: keys of security domains (over the air) and the second
 * administrative code. What a template has is public, so each profile gets its own, out of its Ki: whoever has that can
 * derive them again, and nobody else. ADM1 too when the SIM has none.
 */
const withOwnKeys: Step = (elements, facts, keep) => {
  const admins = new Map([[CODE.adm2, derived(facts, keep, 'adm2', 8)] as const])
  const all = new Map<number, Uint8Array>(admins)
  if (facts.adm1.length === 0) all.set(CODE.adm1, derived(facts, keep, 'adm1', 8))
  let count = 0
  return withElements(withPins(elements, all), ELEMENT.securityDomain, (piece) =>
    withEach(piece, 0xa2, (list) =>
      withEach(list, 0x30, (key) =>
        withComponents(key, (octets) => derived(facts, keep, `key ${++count}`, octets)),
      ),
    ),
  )
}

/** KeyObject: its components are `30 { 30 { 80 type, 86 data } }`. TCA 3.3 §8.6.3. */
function withComponents(key: Piece, draw: (octets: number) => Uint8Array): Piece {
  return withEach(key, 0x30, (components) =>
    withEach(components, 0x30, (one) => {
      const octets = partAt(one, 0x86)?.value.length ?? 0
      return octets === 0 || octets > 32 ? one : withPart(one, leaf(0x86, draw(octets)))
    }),
  )
}

/** HMAC-SHA-256 under Ki of a label and the ICCID. */
function derived(facts: ProfileFacts, keep: Keep, label: string, octets: number): Uint8Array {
  // As a key object: Node takes three times as long to see that octets are none.
  const digest = createHmac('sha256', createSecretKey(facts.ki))
    .update(`steeple esim ${label} ${facts.iccid}`)
    .digest()
  return keep(digest).subarray(0, octets)
}

const text = new TextEncoder()
/** Tag of a name in the files of an ISIM. TS 31.103 §4.2.2. */
const NAME = 0x80

/** The home domain of an IMSI: `ims.mnc001.mcc001.3gppnetwork.org`. TS 23.003 §13.2. */
function imsDomain(imsi: string, mncLength: 2 | 3): string {
  const { mcc, mnc } = plmnOf(imsi, mncLength)
  return `ims.mnc${mnc.padStart(3, '0')}.mcc${mcc}.3gppnetwork.org`
}

/** Domain, private and one public identity of the ISIM, derived from the IMSI; other public ones are taken out. TS 23.003 §13.2–13.4B. */
const withIms: Step = (elements, facts, keep) => {
  const domain = imsDomain(facts.imsi, facts.mncLength)
  const named = (words: string): Uint8Array => {
    const octets = text.encode(words)
    return keep(Uint8Array.of(NAME, octets.length, ...octets))
  }
  return withElements(elements, ELEMENT.isim, (piece) => {
    const impi = withEach(piece, 0xa3, (file) => withRoomFor(file, named(`${facts.imsi}@${domain}`)))
    const impu = withEach(impi, 0xa4, (file) => withRecord(file, named(`sip:${facts.imsi}@${domain}`)))
    return withEach(impu, 0xa5, (file) => withRoomFor(file, named(domain)))
  })
}

/** Who the SIM is and with what it proves it: what other tools that personalise write as well. */
export const IDENTITY: readonly Step[] = [withIccid, withImsi, withKeys, withCodes]
/** What is alike in all profiles of one network: it needs the network's code, the provider's name and its public keys. */
const NETWORK: readonly Step[] = [withProvider, withOperation, withNetwork, withSuci]
/** What is left then. */
const SIM: readonly Step[] = [...IDENTITY, withNumber, withIms, withOwnKeys]
/** Networks whose elements are remembered. */
const MOST_NETWORKS = 16

/** The one for an eUICC that takes profiles up to that version; undefined when it takes none of this template. */
export function templateFor(
  template: ProfileTemplate,
  version: ProfileVersion | undefined,
): ProfileTemplate | undefined {
  const [major, minor] = template.version ?? [0, 0]
  const takes = version === undefined || version[0] > major || (version[0] === major && version[1] >= minor)
  return takes ? template : template.earlier && templateFor(template.earlier, version)
}

/**
 * A template that profiles are made from. Throws `TemplateError` for a file that is no profile or lacks what is written
 * into it. TCA "eUICC Profile Package: Interoperable Format Technical Specification".
 */
export function loadTemplate(octets: Uint8Array): ProfileTemplate {
  return templateOf(readElements(Uint8Array.from(octets)))
}

/** The same without what `lean` leaves out. */
export function loadLeanTemplate(octets: Uint8Array): ProfileTemplate {
  const elements = lean(readElements(Uint8Array.from(octets)))
  return { ...templateOf(elements), earlier: templateOf(without5g(elements)) }
}

function templateOf(elements: readonly ProfileElement[]): ProfileTemplate {
  validate(elements)
  const pieces = elements.map(({ piece }) => piece)
  const networks = new Map<string, readonly Piece[]>()
  const ofNetwork = (facts: ProfileFacts): readonly Piece[] => {
    const { mcc, mnc } = plmnOf(facts.imsi, facts.mncLength)
    const name = `${mcc}-${mnc} ${Buffer.from(facts.suci ?? []).toString('hex')} ${facts.spn}`
    const known = networks.get(name)
    if (known !== undefined) return known
    const made = NETWORK.reduce<readonly Piece[]>(
      (all, step) => step(all, facts, (octets) => octets),
      pieces,
    ).map(settled)
    if (networks.size >= MOST_NETWORKS) networks.clear()
    networks.set(name, made)
    return made
  }
  return {
    personalise: (facts) => personalised(ofNetwork(facts), facts, SIM),
    needs: neededCapabilities(elements),
    version: versionOf(elements),
  }
}

/** The elements with the facts in them, by these steps, as octets. Throws `RangeError` for facts that are none. */
export function personalised(
  elements: readonly Piece[],
  facts: ProfileFacts,
  steps: readonly Step[],
): Uint8Array {
  const copies: Uint8Array[] = []
  const keep = (octets: Uint8Array): Uint8Array => {
    copies.push(octets)
    return octets
  }
  try {
    return written(steps.reduce((pieces, step) => step(pieces, facts, keep), elements))
  } finally {
    for (const copy of copies) copy.fill(0)
  }
}
