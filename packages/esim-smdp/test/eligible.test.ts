import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readAll } from '@steeple/sgp22'
import { assert, suite } from '@steeple/testkit'
import { createEuicc } from '@steeple/virtual-euicc'
import { loadTemplate } from '../src/profile/template.ts'
import { readTemplate, templatesInForce } from '../src/profile/template-in-force.ts'
import { authenticated, good, handset } from './support/handset.ts'
import { eidOf } from './support/pki.ts'
import { BUNDLED } from './support/profiles.ts'
import { ADDRESS, type World, world } from './support/world.ts'

const eligible = suite('esim-smdp/eligible')

/** UICCCapability with these bits. SGP.22 annex H. */
function capability(...bits: readonly number[]): Uint8Array {
  const octets = new Uint8Array(5)
  for (const bit of bits) octets[1 + (bit >> 3)] = (octets[1 + (bit >> 3)] ?? 0) | (0x80 >> (bit & 7))
  return octets
}
/** USIM, ISIM, CSIM, Milenage; GET IDENTITY and both profiles of ECIES. */
const [USIM, ISIM, CSIM, MILENAGE, IDENTITY, PROFILE_A, PROFILE_B] = [1, 2, 3, 4, 22, 23, 24] as const

const phoneWith = (all: World, of: Uint8Array) =>
  handset(createEuicc({ eid: eidOf(7), chains: [all.chain(7)], capability: of }), ADDRESS)

eligible('says what profiles of a template demand of an eUICC', () => {
  assert.equal(readTemplate('').needs, [USIM, ISIM, MILENAGE])
  assert.equal(loadTemplate(BUNDLED).needs, [USIM, ISIM, CSIM, MILENAGE, IDENTITY, PROFILE_A, PROFILE_B])
})

eligible('refuses an eUICC that lacks a service, which ends its code', async () => {
  await using all = await world()
  let number = 1
  for (const lacking of [
    capability(USIM, MILENAGE),
    capability(USIM, ISIM),
    capability(),
    Uint8Array.of(0, 0x40),
  ]) {
    const code = await all.issue(number++)
    const phone = phoneWith(all, lacking)
    const first = await good(all, 'initiateAuthentication', phone.initiate())
    const request = phone.authenticate(first, code.matchingId)
    assert.is((await all.call('authenticateClient', request)).code, '8.2.5/4.3')
    const row = await all.row(code)
    assert.equal(
      [row.state, row.last_error, row.eid_hash],
      ['error', 'the device cannot take this profile', null],
    )
  }
  const code = await all.issue(number)
  // As pySim's client says of its eUICC, which has no CSIM.
  const usual = Uint8Array.of(0, 0x6b, 0x36, 0xd3, 0xc3)
  await authenticated(all, phoneWith(all, usual), code.matchingId)
  // One of which nothing can be said has to find out.
  await authenticated(all, phoneWith(all, Uint8Array.of(0)), code.matchingId)
})

const phoneOf = (all: World, profileVersion: readonly [number, number, number]) =>
  handset(createEuicc({ eid: eidOf(7), chains: [all.chain(7)], profileVersion }), ADDRESS)

eligible(
  'gives an eUICC of an earlier version a profile that it takes, and else leaves its code as it is',
  async () => {
    await using all = await world()
    for (const [number, version, has5g] of [
      [1, [2, 1, 0], false],
      [2, [2, 3, 0], true],
    ] as const) {
      const code = await all.issue(number)
      const phone = phoneOf(all, version)
      const { answer } = await authenticated(all, phone, code.matchingId)
      phone.install(await good(all, 'getBoundProfilePackage', phone.prepare(answer)))
      const [kept] = phone.euicc.save().profiles
      const elements = readAll(Buffer.from(kept?.package ?? '', 'hex'))
      assert.is(
        elements.some(({ tag }) => tag === 0xbc),
        has5g,
      )
      assert.is(phone.euicc.profiles()[0]?.imsi, `99970${String(number).padStart(10, '0')}`)
    }
    const template = loadTemplate(BUNDLED)
    Object.assign(all.parts, { template: () => template })
    const code = await all.issue(3)
    const phone = phoneOf(all, [2, 1, 0])
    const first = await good(all, 'initiateAuthentication', phone.initiate())
    assert.is(
      (await all.call('authenticateClient', phone.authenticate(first, code.matchingId))).code,
      '8.2.5/4.3',
    )
    const { state, last_error } = await all.row(code)
    assert.is(state, 'released')
    assert.match(last_error ?? '', /earlier version.*esim\.template/)
  },
)

eligible('makes the profile from the template for that of its SIM', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'templates-'))
  const file = join(folder, 'gold.der')
  try {
    writeFileSync(file, BUNDLED)
    const templates = templatesInForce({ template: '', templates: [{ profile: 'gold', file }] })
    templates.check()
    const all = await world()
    for (const [number, profile, hasCsim] of [
      [1, 'gold', true],
      [2, 'default', false],
    ] as const) {
      Object.assign(all.parts, {
        template: (of = '') => templates.of(of === 'default' ? profile : 'of no SIM'),
      })
      const { matchingId } = await all.issue(number)
      const usual = Uint8Array.of(0, 0x7f, 0x36, 0xd3, 0xc3)
      const phone = phoneWith(all, usual)
      const { answer } = await authenticated(all, phone, matchingId)
      phone.install(await good(all, 'getBoundProfilePackage', phone.prepare(answer)))
      const elements = readAll(Buffer.from(phone.euicc.save().profiles[0]?.package ?? '', 'hex'))
      assert.is(
        elements.some(({ tag }) => tag === 0xb9),
        hasCsim,
      )
    }
    await all.close()
    writeFileSync(file, BUNDLED.subarray(1))
    const broken = templatesInForce({ template: '', templates: [{ profile: 'gold', file }] })
    broken.of('default')
    for (const look of [() => broken.check(), () => broken.of('gold')])
      assert.throws(look, /gold\.der \(esim\.templates\) cannot be used: offset 0/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

eligible.run()
