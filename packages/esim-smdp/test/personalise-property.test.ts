import { readAll } from '@steeple/sgp22'
import { alphaIdentifier, luhnCheckDigit } from '@steeple/telecom'
import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import type { ProfileFacts } from '../src/parts.ts'
import { loadLeanTemplate, loadTemplate } from '../src/profile/template.ts'
import { decoded, textFrom } from './support/decode.ts'
import { ascii, BUNDLED, FACTS, hex, TEMPLATES } from './support/profiles.ts'

const properties = suite('esim-smdp/personalise-property')
const templates = [...TEMPLATES.map((one) => loadTemplate(one)), loadLeanTemplate(BUNDLED)]
const TEST_KEY = '000102030405060708090a0b0c0d0e0f'

const digits = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.array(fc.integer({ min: 0, max: 9 }), { minLength, maxLength }).map((all) => all.join(''))
const octetsOf = (length: number): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ minLength: length, maxLength: length })
const code = (least: number, most: number): fc.Arbitrary<Uint8Array> => digits(least, most).map(ascii)
/** Letters of one script, of several, and whatever there is. */
const name = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'abc ÅØñ@_Δ€[]'), maxLength: 30 }),
  fc.string({ unit: fc.constantFrom(...'Сеть Почта123'), maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
)
const facts: fc.Arbitrary<ProfileFacts> = fc.record({
  imsi: fc.oneof(digits(15, 15), digits(6, 15)),
  iccid: digits(18, 20),
  ki: octetsOf(16),
  opc: octetsOf(16),
  adm1: fc.oneof(
    code(4, 8),
    fc.constant(new Uint8Array(0)),
    octetsOf(8).map((octets) => ascii(hex(octets))),
  ),
  pin1: code(4, 8),
  puk1: code(8, 8),
  pin2: code(4, 8),
  puk2: code(8, 8),
  mncLength: fc.constantFrom<2 | 3>(2, 3),
  spn: name,
})

const padded = (octets: Uint8Array): string => hex(octets).padEnd(16, 'f')

function says(profile: Uint8Array, wanted: ProfileFacts): void {
  const found = decoded(profile)
  const iccid = wanted.iccid.length > 18 ? wanted.iccid : `${wanted.iccid}${luhnCheckDigit(wanted.iccid)}`
  assert.equal(found.iccids, [iccid, iccid])
  assert.is(found.imsi, wanted.imsi)
  assert.is(found.accessClass, 1 << Number(wanted.imsi.at(-1)))
  assert.equal([found.operation, found.mncLength], [0, wanted.mncLength])
  const key = `01 ${hex(wanted.ki)} ${hex(wanted.opc)}`
  assert.equal(found.keys, [key, key])
  assert.ok(found.services.includes('8400') && !found.services.includes('9100'))
  assert.equal(found.services, [...found.services].sort())
  codesAre(found, wanted)
  const mcc = wanted.imsi.slice(0, 3)
  const mnc = wanted.imsi.slice(3, 3 + wanted.mncLength)
  const domain = `ims.mnc${mnc.padStart(3, '0')}.mcc${mcc}.3gppnetwork.org`
  assert.equal(
    [found.impi, found.impu, found.domain],
    [`${wanted.imsi}@${domain}`, `sip:${wanted.imsi}@${domain}`, domain],
  )
  const [a, b, c] = mcc
  const [d, e, f = 'f'] = mnc
  assert.is(found.homeNetwork, `${b}${a}${f}${c}${e}${d}4800`)
}

function codesAre({ pins, puks, domainKeys }: ReturnType<typeof decoded>, wanted: ProfileFacts): void {
  assert.equal([pins.get(1), pins.get(0x81)], [padded(wanted.pin1), padded(wanted.pin2)])
  assert.equal([puks.get(1), puks.get(0x81)], [padded(wanted.puk1), padded(wanted.puk2)])
  const adm1 = wanted.adm1.length === 16 ? Buffer.from(wanted.adm1).toString() : padded(wanted.adm1)
  if (wanted.adm1.length > 0) assert.is(pins.get(0x0a), adm1)
  // What is public in the template is in no profile.
  assert.is.not(pins.get(0x0a), hex(ascii('55555555')))
  assert.is.not(pins.get(0x0b), hex(ascii('66666666')))
  assert.ok(domainKeys.length >= 3 && !domainKeys.includes(TEST_KEY))
  assert.is(new Set(domainKeys).size, domainKeys.length)
}

properties('says of every SIM what it was given, in each template, and the same each time', () => {
  fc.assert(
    fc.property(facts, fc.nat(templates.length - 1), (wanted, i) => {
      const template = templates[i] ?? templates[0]
      const profile = template?.personalise(wanted) ?? new Uint8Array(0)
      says(profile, wanted)
      assert.is(hex(template?.personalise(wanted) ?? profile), hex(profile))
    }),
    { numRuns: 100 },
  )
})

properties('gives a profile that is a template itself, and of the same octets when it is made again', () => {
  fc.assert(
    fc.property(facts, (wanted) => {
      for (const template of templates) {
        const profile = template.personalise(wanted)
        assert.is(hex(loadTemplate(profile).personalise(wanted)), hex(profile))
      }
    }),
    { numRuns: 15 },
  )
})

properties('keeps as much of a name as there is room for, and never more than its characters', () => {
  fc.assert(
    fc.property(name, (wanted) => {
      const octets = alphaIdentifier(wanted, 16)
      assert.ok(octets.length <= 16)
      const whole = [...wanted].map((one) => (one.length === 1 ? one : '?')).join('')
      const found = textFrom(Uint8Array.from({ length: 16 }, (_, i) => octets[i] ?? 0xff))
      assert.ok(whole.startsWith(found) && found.length >= Math.min(7, whole.length))
    }),
    { numRuns: 500 },
  )
})

properties('writes names in the coding that keeps the most of them', () => {
  for (const [wanted, coded] of [
    ['Steeple', '53746565706c65'],
    ['Åland £', '0e6c616e642001'],
    ['Café Nord', '43616605204e6f7264'],
    ['Zażółć', '80005a0061017c00f301420107'],
    ['Żagań', '810502fb616761c4'],
    ['Сеть', '8104' + '08' + 'a1b5c2cc'],
    ['日本', '8065e5672c'],
    ['€5', '810241ac35'],
    ['A deep and long name', '41206465657020616e64206c6f6e6720'],
    ['', ''],
  ] as const)
    assert.is(hex(alphaIdentifier(wanted, 16)), coded, wanted)
})

properties('refuses facts that are none, without saying them', () => {
  const [template] = templates
  for (const [wrong, message] of [
    [{ imsi: '99970' }, 'an IMSI has 6 to 15 digits'],
    [{ imsi: '9997000000000012' }, 'an IMSI has 6 to 15 digits'],
    [{ iccid: '8999' }, 'an ICCID has 18 to 20 digits'],
    [{ ki: new Uint8Array(15) }, 'Ki and OPc have 16 octets'],
    [{ opc: new Uint8Array(32) }, 'Ki and OPc have 16 octets'],
    [{ pin1: ascii('123') }, 'pin1 has 4 to 8 digits'],
    [{ puk2: ascii('123456789') }, 'puk2 has 4 to 8 digits'],
  ] as const)
    assert.throws(() => template?.personalise({ ...FACTS, ...wrong }), message)
})

properties('leaves the keys that it is given as they are, and others with the ICCID have other keys', () => {
  const [template] = templates
  const ki = Uint8Array.from(FACTS.ki)
  const one = template?.personalise({ ...FACTS, ki })
  assert.is(hex(ki), hex(FACTS.ki))
  const two = template?.personalise({ ...FACTS, ki: FACTS.opc })
  if (one === undefined || two === undefined) throw new Error('no profile')
  const [first, second] = [decoded(one), decoded(two)]
  assert.is.not(first.domainKeys[0], second.domainKeys[0])
  assert.is.not(first.pins.get(0x0b), second.pins.get(0x0b))
  assert.is(readAll(one).length, readAll(two).length)
})

properties.run()
