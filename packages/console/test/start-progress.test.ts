import { assert, suite } from '@steeple/testkit'
import {
  type Profile,
  profileBody,
  type Range,
  typedBand,
  typedProfile,
} from '../src/pages/radio/spectrum.ts'
import type { StartFacts } from '../src/pages/start/progress.ts'
import { inBrowser } from './support/page.ts'

const { doneSteps, STEPS } = await import('../src/pages/start/progress.ts')

const start = suite('console/start-progress')
inBrowser(start)

const RANGE: Range = {
  ...{ technology: 'lte', band: 'b3', country: 'DE', first_channel: null, last_channel: null },
  ...{ low_mhz: 1815, high_mhz: 1825.1, band_low_mhz: 1805, band_high_mhz: 1880, max_eirp_dbm: 30 },
}
const gates = { country_code: 'set', license_ack: 'set', allow_list: 'set' } as const
const WHOLE: StartFacts = {
  gate: { gates, transmitter: 'on' },
  ranges: { country: 'DE', ranges: [RANGE], bands: [] },
  apns: ['internet'],
  people: [{}],
  sims: [{ first_attach_at: '2026-11-28T00:00:00.000Z' }],
}

const openSteps = (facts: StartFacts) => STEPS.filter((step) => !doneSteps(facts)[step])

start('finds what is left to do in what the service says, step by step', () => {
  assert.equal(openSteps({}), [...STEPS])
  assert.equal(openSteps(WHOLE), [])
  assert.equal(openSteps({ ...WHOLE, gate: { gates, transmitter: 'unconfirmed' } }), ['air'])
  const unset = { ...gates, country_code: 'missing', license_ack: 'missing' } as const
  assert.equal(openSteps({ ...WHOLE, gate: { gates: unset, transmitter: 'off' } }), [
    'country',
    'license',
    'air',
  ])
  assert.equal(openSteps({ ...WHOLE, otherNetworks: ['999-99'] }), ['plmn'], 'the core does not announce it')
  const elsewhere = { country: 'FR', ranges: [RANGE], bands: [] }
  assert.equal(openSteps({ ...WHOLE, ranges: elsewhere }), ['spectrum'])
  assert.equal(openSteps({ ...WHOLE, apns: [], people: [], sims: [{ first_attach_at: null }] }), [
    'apn',
    'person',
    'sim',
  ])
  const others = [{ first_attach_at: null }, { first_attach_at: '2026-11-28T00:00:00.000Z' }]
  assert.equal(openSteps({ ...WHOLE, sims: others }), [], 'a SIM of others is in use')
})

start('begins a profile in the middle of what is allowed, and sends it as it is typed', () => {
  const typed = typedBand(RANGE)
  assert.equal(profileBody(typed), {
    ...{ technology: 'lte', band: 'b3', frequency_mhz: 1820.1, bandwidth_mhz: 10, eirp_dbm: 30 },
  })
  assert.equal(
    profileBody({ ...typed, by: 'channel', channel: ' 1350', bandwidth_mhz: '1,4', eirp_dbm: '' }),
    {
      ...{ technology: 'lte', band: 'b3', channel: 1350, bandwidth_mhz: 1.4 },
    },
  )
  assert.equal(Reflect.get(profileBody({ ...typed, eirp_dbm: 'much' }), 'eirp_dbm'), 'much')
})

start('changes of a profile only what is typed', () => {
  const shown: Profile = {
    ...{ id: 'mast', technology: 'nr', channel: 630_000, band: 'n78', bandwidth_mhz: 20, eirp_dbm: -3 },
    ...{ tx_gain_db: 50, rx_gain_db: null, downlink: null, uplink: null, armed: false, source: 'store' },
    ...{ closed: [], problems: [], fallback: null },
  }
  assert.equal(profileBody(typedProfile(shown)), {
    ...{ technology: 'nr', band: 'n78', channel: 630_000, bandwidth_mhz: 20, eirp_dbm: -3, tx_gain_db: 50 },
  })
})

start.run()
