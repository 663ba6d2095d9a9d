import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert, rounds, seededDraw, suite } from '@steeple/testkit'
import { MAX_TEMPLATE_OCTETS, readElements, TemplateError } from '../src/profile/read.ts'
import { loadTemplate } from '../src/profile/template.ts'
import { readTemplate } from '../src/profile/template-in-force.ts'
import { branch, leaf, type Piece, withEach, without, withPart, written } from '../src/profile/tree.ts'
import { mutant, tried } from './support/mutants.ts'
import { BUNDLED, FACTS, hex, octets, TEMPLATES } from './support/profiles.ts'

const templates = suite('esim-smdp/template')
const elements = readElements(BUNDLED)
const pieces: readonly Piece[] = elements.map(({ piece }) => piece)

/** The place of an element of that name. */
function placeOf(name: string): number {
  return elements.findIndex((element) => element.name === name)
}

const lacking = (name: string): readonly Piece[] => pieces.toSpliced(placeOf(name), 1)
const changed = (name: string, change: (piece: Piece) => Piece): readonly Piece[] =>
  pieces.map((piece, i) => (i === placeOf(name) ? change(piece) : piece))
const twice = (name: string): readonly Piece[] =>
  pieces.toSpliced(placeOf(name), 0, pieces[placeOf(name)] ?? leaf(0, new Uint8Array(0)))
const moved = (name: string, before: string): readonly Piece[] =>
  lacking(name).toSpliced(placeOf(before), 0, pieces[placeOf(name)] ?? leaf(0, new Uint8Array(0)))
const nothing = new Uint8Array(0)
const services = (change: (list: Piece) => Piece): readonly Piece[] =>
  changed('header', (header) => withEach(header, 0xa5, change))
const service = (tag: number): readonly Piece[] => services((list) => withPart(list, leaf(tag, nothing)))
const algorithm = (change: (own: Piece) => Piece): readonly Piece[] =>
  changed('akaParameter', (piece) => withEach(piece, 0xa1, (choice) => withEach(choice, 0xa1, change)))
const inFile = (name: string, tag: number, change: (file: Piece) => Piece): readonly Piece[] =>
  changed(name, (piece) => withEach(piece, tag, change))

/** What is said of a template. */
function said(parts: readonly Piece[] | Uint8Array): string {
  const text = parts instanceof Uint8Array ? parts : written(parts)
  try {
    loadTemplate(text)
    return 'good'
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    assert.is(error.message, `offset ${error.offset}, ${error.path}: ${error.what}`)
    return error.message
  }
}

templates('takes what TS.48 and we ourselves made, and writes it as it was', () => {
  for (const template of TEMPLATES) {
    assert.is(said(template), 'good')
    assert.is(hex(written(readElements(template).map(({ piece }) => piece))), hex(template))
    assert.is(said(loadTemplate(template).personalise(FACTS)), 'good')
    assert.is(hex(written(readElements(template).map(({ piece }) => anew(piece)))), hex(template))
  }
})

/** The same object, every part of it to be written again. */
function anew(piece: Piece): Piece {
  return { ...piece, raw: undefined, parts: piece.parts?.map(anew) }
}

for (const [sentence, parts, message] of [
  ['without a header', lacking('header'), 'offset 0, mf (element 1): the first element must be the header'],
  ['without an MF', lacking('mf'), 'offset 160, pukCodes (element 2): the second element must be mf'],
  [
    'without an end',
    lacking('end'),
    'offset 11686, securityDomain (element 25): the last element must be end',
  ],
  ['with two USIMs', twice('usim'), 'offset 3835, usim (element 9): there is a usim already'],
  [
    'with its files before the USIM',
    moved('opt-usim', 'usim'),
    'offset 2630, opt-usim (element 8): must come after usim',
  ],
  [
    'with keys before the USIM',
    moved('akaParameter', 'usim'),
    'offset 2630, akaParameter (element 8): must come after usim or isim',
  ],
  [
    'without a USIM',
    services((list) => without(list, 0x81)).toSpliced(placeOf('usim'), 1),
    'offset 2628, opt-usim (element 8): must come after usim',
  ],
  ['with an ISIM too few', lacking('isim'), 'offset 10351, opt-isim (element 19): must come after isim'],
  [
    'with a service that no element gives',
    service(0x84),
    'offset 54, header (element 1): the service milenage is mandatory, and there is no akaParameter with Milenage',
  ],
  [
    'with a service that no key gives',
    service(0x85),
    'offset 54, header (element 1): the service tuak128 is mandatory, and there is no akaParameter with TUAK and a key of 16 octets',
  ],
  [
    'with a service that needs another',
    services((list) => withPart(without(list, 0x82), leaf(0x88, nothing))),
    'offset 54, header (element 1): the service gba-isim is mandatory, and there is no service isim',
  ],
  [
    'without services',
    changed('header', (header) => without(header, 0xa5)),
    'offset 0, header (element 1): has no list of mandatory services',
  ],
  [
    'with a short ICCID',
    changed('header', (header) => withPart(header, leaf(0x83, octets('8900')))),
    'offset 42, header (element 1): the ICCID must have 10 octets',
  ],
  [
    'without EF.ICCID',
    changed('mf', (mf) => without(mf, 0xa4)),
    'offset 160, mf (element 2): has no ef-iccid',
  ],
  [
    'without EF.IMSI',
    changed('usim', (usim) => without(usim, 0xa3)),
    'offset 2630, usim (element 8): has no ef-imsi',
  ],
  [
    'with a long EF.IMSI',
    inFile('usim', 0xa3, (file) => withPart(file, leaf(0x83, new Uint8Array(10)))),
    'offset 2682, usim (element 8) / ef-imsi: must have 9 octets',
  ],
  [
    'with an EF.ICCID that is not made',
    inFile('mf', 0xa4, (file) => branch(file.tag, [leaf(0x80, nothing)])),
    'offset 223, mf (element 2) / ef-iccid: must have 10 octets',
  ],
  [
    'without any keys',
    services((list) => without(list, 0x91)).filter((piece) => piece.tag !== 0xa4),
    'offset 11792, end (element 24): there is no akaParameter with keys of its own',
  ],
  [
    'without a key',
    algorithm((own) => without(own, 0x82)),
    'offset 6411, akaParameter (element 11): has no key',
  ],
  [
    'with an identification twice',
    changed('telecom', (piece) =>
      withEach(piece, 0xa0, (header) => withPart(header, leaf(0x81, Uint8Array.of(5)))),
    ),
    'offset 1063, telecom (element 5): has the identification 5 of pukCodes (element 3)',
  ],
  [
    'without an identification',
    changed('telecom', (piece) => withEach(piece, 0xa0, (header) => without(header, 0x81))),
    'offset 1063, telecom (element 5): its header has no identification',
  ],
  [
    'with codes that are too short',
    changed('pukCodes', (piece) =>
      withEach(piece, 0xa1, (list) =>
        withEach(list, 0x30, (code) => withPart(code, leaf(0x81, octets('3131')))),
      ),
    ),
    'offset 950, pukCodes (element 3): code 01 must have 8 octets',
  ],
  [
    'with a file that is filled beyond its size',
    inFile('mf', 0xa6, (file) => withPart(file, leaf(0x83, new Uint8Array(700)))),
    'offset 369, mf (element 2) / ef-arr: is filled up to octet 1303, and its size is 690',
  ],
  [
    'with something in a file that is no part of it',
    inFile('usim', 0xb2, (file) => withPart(file, leaf(0x84, nothing))),
    'offset 3615, usim (element 8) / ef-acc: is no part of a file',
  ],
  [
    'with files in the wrong order',
    changed('usim', (usim) => branch(usim.tag, (usim.parts ?? []).toReversed())),
    'offset 2634, usim (element 8): must begin with its header',
  ],
] as const)
  templates(`refuses one ${sentence}, and says where`, () => {
    assert.is(said(parts), message)
  })

templates('refuses what is no DER, and says where', () => {
  const bent = (at: number, octet: number): Uint8Array => Uint8Array.from(BUNDLED).fill(octet, at, at + 1)
  assert.is(said(nothing), 'offset 0, the file: is empty')
  assert.is(
    said(new Uint8Array(MAX_TEMPLATE_OCTETS + 1)),
    `offset 0, the file: has more than ${MAX_TEMPLATE_OCTETS} octets`,
  )
  assert.is(said(BUNDLED.subarray(0, 3_000)), 'offset 2630, the file: says 1201 octets, and 366 are there')
  assert.is(said(bent(0, 0x77)), 'offset 0, element 1: tag 77 is no profile element')
  assert.is(
    said(bent(2_677, 0x7f)),
    'offset 2676, usim (element 8) / adf-usim / fileDescriptor: says 127 octets, and 4 are there',
  )
  assert.is(said(octets('a0810100')), 'offset 0, header (element 1): its length is not in the shortest form')
})

templates('reads a file, and says what is wrong with it', () => {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-template-'))
  try {
    const file = join(folder, 'own.der')
    writeFileSync(file, BUNDLED)
    assert.is(hex(readTemplate(file).personalise(FACTS)), hex(loadTemplate(BUNDLED).personalise(FACTS)))
    writeFileSync(file, BUNDLED.subarray(0, 100))
    assert.throws(() => readTemplate(file), /^offset 0, the file: says 157 octets, and 97 are there/)
    writeFileSync(file, new Uint8Array(MAX_TEMPLATE_OCTETS + 1))
    assert.throws(() => readTemplate(file), /has more than/)
    assert.throws(() => readTemplate(join(folder, 'none.der')), /ENOENT/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

templates('is not changed by what becomes of the octets that it was read from', () => {
  const octetsOf = Uint8Array.from(BUNDLED)
  const template = loadTemplate(octetsOf)
  octetsOf.fill(0)
  assert.is(hex(template.personalise(FACTS)), hex(loadTemplate(BUNDLED).personalise(FACTS)))
})

templates('refuses changed templates with a position, or makes a good profile of them', () => {
  const draw = seededDraw(48)
  const seen = { refused: 0, taken: 0 }
  for (let i = 0; i < rounds(200); i++) seen[tried(mutant(draw))] += 1
  assert.ok(seen.refused > 40 && seen.taken > 40)
})

templates.run()
