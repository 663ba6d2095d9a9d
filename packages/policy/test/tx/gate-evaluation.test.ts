import type { AllowListEntry, RadioProfile } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { defaultContent } from '../../src/bundle/bundle-schema.ts'
import { carrierOfProfile, closedGates, type GateBasis, gateState } from '../../src/tx/gate-evaluation.ts'

const gates = suite('policy/gate-evaluation')
const { license } = defaultContent([]).spectrum
const B3: AllowListEntry = { technology: 'lte', band: 'b3', country: 'DE' }
const PROFILE: RadioProfile = { technology: 'lte', channel: 1300, bandwidth_mhz: 10 }

function basis(list: readonly AllowListEntry[], more: Partial<GateBasis> = {}): GateBasis {
  const spectrum = { allow_list: list, license: { ...license, acknowledged: true } }
  return { country: 'DE', profiles: { a: PROFILE }, spectrum, nowMs: 0, ...more }
}
const closed = (list: readonly AllowListEntry[], profile: RadioProfile): readonly string[] =>
  closedGates(basis(list), carrierOfProfile(profile)).map(({ reason }) => reason)

gates('are all green for a covered profile', () => {
  assert.equal(closed([B3], PROFILE), [])
})

gates('hold the profile to the power limit of the entry', () => {
  const list = [{ ...B3, max_eirp_dbm: 20 }]
  assert.equal(closed(list, { ...PROFILE, eirp_dbm: 20 }), [])
  assert.match(closed(list, { ...PROFILE, eirp_dbm: 20.1 }).join(), /20 dBm EIRP, less than 20.1 dBm/)
  assert.match(closed(list, PROFILE).join(), /states no eirp_dbm/)
})

gates('take the looser of two entries for the same carrier', () => {
  const list = [
    { ...B3, max_eirp_dbm: 20 },
    { ...B3, max_eirp_dbm: 30 },
  ]
  assert.equal(closed(list, { ...PROFILE, eirp_dbm: 25 }), [])
})

gates('do not let the node send where a band has no downlink', () => {
  const list: readonly AllowListEntry[] = [{ technology: 'nr', band: 'n80', country: 'DE' }]
  const uplinkOnly: RadioProfile = { technology: 'nr', channel: 345_000, band: 'n80', bandwidth_mhz: 10 }
  assert.match(closed(list, uplinkOnly).join(), /n80 has no downlink/)
})

gates('name every closed layer', () => {
  const all = closedGates({ ...basis([]), country: 'LAB', spectrum: { allow_list: [], license } }, undefined)
  assert.equal(
    all.map(({ gate }) => gate),
    ['country-code', 'license', 'allow-list'],
  )
})

gates(
  'show the allow-list as set when any profile is covered, or any entry of the country without profiles',
  () => {
    const listOf = (state: GateBasis): string => gateState(state, undefined, 'off').gates.allow_list
    assert.is(listOf(basis([B3])), 'set')
    assert.is(listOf(basis([{ ...B3, band: 'b1' }])), 'missing')
    assert.is(listOf(basis([{ ...B3, band: 'b1' }], { profiles: {} })), 'set')
    assert.is(listOf(basis([{ ...B3, country: 'FR' }], { profiles: {} })), 'missing')
    assert.is(listOf(basis([], { profiles: {} })), 'missing')
  },
)

gates.run()
