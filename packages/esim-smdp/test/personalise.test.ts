import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { child, readAll, type Tlv } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { readElements } from '../src/profile/read.ts'
import { IDENTITY, loadTemplate, personalised } from '../src/profile/template.ts'
import { readTemplate } from '../src/profile/template-in-force.ts'
import { decoded } from './support/decode.ts'
import { BUNDLED, FACTS, fixture, hex } from './support/profiles.ts'

const profiles = suite('esim-smdp/personalise')

profiles('writes the known answer of others, octet for octet', () => {
  const elements = readElements(BUNDLED).map(({ piece }) => piece)
  assert.is(hex(personalised(elements, FACTS, IDENTITY)), hex(fixture('perso-v7.der')))
})

profiles('writes the same octets for the same facts, and what it always wrote', () => {
  const template = loadTemplate(BUNDLED)
  const first = template.personalise(FACTS)
  assert.is(hex(first), hex(fixture('whole-v7.der')))
  template.personalise({ ...FACTS, imsi: '001010123456063', spn: 'Other' })
  assert.is(hex(template.personalise(FACTS)), hex(first))
})

profiles('asks an eUICC for nothing that the bundled profile does not use', () => {
  const octets = readTemplate('').personalise(FACTS)
  assert.is(hex(octets), hex(fixture('lean-v7.der')), 'what it always wrote')
  const { services, imsi, keys } = decoded(octets)
  // USIM, ISIM, Milenage.
  assert.equal(services, ['8100', '8200', '8400'])
  assert.equal([imsi, keys.length], [FACTS.imsi, 2])
  const whole = loadTemplate(BUNDLED).personalise(FACTS)
  const tagsOf = (profile: Uint8Array) => readAll(profile).map(({ tag }) => tag)
  const gone = [0xb9, 0xba, 0xa5, 0xbd]
  assert.equal(
    tagsOf(octets),
    // With CSIM go its PINs, the third of the elements `A2` from behind but one.
    tagsOf(whole).filter((tag, i, all) => !gone.includes(tag) && !(tag === 0xa2 && all[i - 1] === 0xba)),
  )
  assert.not.ok(hex(octets).includes('a0000003431002'), 'EF.DIR names no CSIM')
  const [header] = readAll(octets)
  const templates = child(header as Tlv, 0xa6)?.children() ?? []
  assert.equal(
    templates.map(({ value }) => value.at(-1)),
    [1, 3, 4, 5, 7, 8, 9, 13],
  )
  const ust = readAll(octets)
    .find(({ tag }) => tag === 0xb3)
    ?.children()
    .find(({ tag }) => tag === 0xa8)
  const bits = ust?.children().find(({ tag }) => tag === 0x83)?.value ?? new Uint8Array(0)
  assert.is((bits[15] ?? 0xff) & 0x18, 0, 'no SUCI by key')
  assert.is((bits[15] ?? 0) & 0x26, 0x26, 'the rest of 5G stays')
  loadTemplate(octets)
  const own = `${mkdtempSync(join(tmpdir(), 'template-'))}/own.der`
  try {
    writeFileSync(own, BUNDLED)
    assert.is(hex(readTemplate(own).personalise(FACTS)), hex(whole), "an operator's own one stays as it is")
  } finally {
    rmSync(dirname(own), { recursive: true })
  }
})

profiles.run()
