import type { AllowListEntry, SpectrumLicense } from '@steeple/contracts'
import { isServiceError } from '@steeple/contracts'
import { assert, cpuMs, suite } from '@steeple/testkit'
import { countryList } from '../../src/spectrum/allowed-range.ts'
import type { CheckBody } from '../../src/spectrum/asked.ts'
import { type CheckRequest, type CheckResult, checkAsked } from '../../src/spectrum/check.ts'
import { coverageOf } from '../../src/spectrum/coverage.ts'

const check = suite('policy/spectrum-check')
const NOW = Date.UTC(2026, 0, 1)
const LICENSE: SpectrumLicense = {
  acknowledged: true,
  reference: null,
  holder: null,
  expires_at: null,
  acknowledged_by: 'token:t',
  acknowledged_at: null,
}
const B3: AllowListEntry = { technology: 'lte', band: 'b3', country: 'DE' }

interface Basis {
  readonly list?: readonly AllowListEntry[]
  readonly country?: string
  readonly license?: Partial<SpectrumLicense>
}

function ask(request: CheckBody, { list = [B3], country = 'DE', license = {} }: Basis = {}): CheckResult {
  return checkAsked(request, {
    country,
    nowMs: NOW,
    spectrum: { allow_list: list, license: { ...LICENSE, ...license } },
  })
}

function pointersOf(request: CheckBody): readonly string[] {
  try {
    ask(request)
  } catch (error) {
    if (isServiceError(error) && error.code === 'validation_failed') {
      return (error.details ?? []).map(({ pointer }) => pointer)
    }
    throw error
  }
  return []
}

const lte = (channel: number, bandwidth_mhz?: number): CheckRequest => ({
  technology: 'lte',
  channels: [channel],
  ...(bandwidth_mhz === undefined ? {} : { bandwidth_mhz }),
})

check('allows a carrier inside the allow-list and names channel, band and frequencies', () => {
  const result = ask(lte(1300, 20))
  assert.is(result.allowed, true)
  assert.is(result.gate, '')
  assert.is(result.channels_checked, 1)
  assert.match(result.reason, /EARFCN 1300 in b3/)
  assert.equal(result.results, [
    {
      channel: 1300,
      bands: ['b3'],
      band: 'b3',
      downlink_mhz: 1815,
      uplink_mhz: 1720,
      allowed: true,
      gate: null,
      reason: null,
      nearest_channels: [],
    },
  ])
})

check('names the gates in the order country, license, allow-list', () => {
  const all = { list: [], country: 'LAB', license: { acknowledged: false } }
  assert.is(ask(lte(1300), all).gate, 'country-code')
  assert.is(ask(lte(1300), { ...all, country: '' }).gate, 'country-code')
  assert.is(ask(lte(1300), { ...all, country: 'DE' }).gate, 'license')
  assert.is(ask(lte(1300), { ...all, country: 'DE', license: {} }).gate, 'allow-list')
})

check('names channel and country when the allow-list blocks', () => {
  const result = ask(lte(100))
  assert.is(result.gate, 'allow-list')
  assert.match(result.reason, /100/)
  assert.match(result.reason, /DE/)
})

check('counts a license as expired from its very instant on', () => {
  const at = (ms: number): Basis => ({ license: { expires_at: new Date(NOW + ms).toISOString() } })
  assert.is(ask(lte(1300), at(1)).gate, '')
  assert.is(ask(lte(1300), at(0)).gate, 'license')
  assert.is(ask(lte(1300), at(-1)).gate, 'license')
})

interface License {
  readonly what: string
  readonly entries: readonly Partial<AllowListEntry>[]
  readonly bandwidth_mhz: number
  readonly fits: readonly number[]
  readonly sticksOut: readonly number[]
}

const N78: AllowListEntry = { technology: 'nr', band: 'n78', country: 'DE' }
/** Blocks of real licences, each with the channels next to their edges and one step of the raster beyond them. */
const LICENSES: readonly License[] = [
  {
    what: 'a campus network: all of 3700 to 3800 MHz (Bundesnetzagentur)',
    entries: [{ low_mhz: 3700, high_mhz: 3800 }],
    bandwidth_mhz: 100,
    fits: [650_000],
    sticksOut: [649_999, 650_001],
  },
  {
    what: 'the same by the channels inside of it',
    entries: [{ earfcn_min: 646_667, earfcn_max: 653_333 }],
    bandwidth_mhz: 100,
    fits: [650_000],
    sticksOut: [649_998, 650_002],
  },
  {
    what: 'a shared access block of 10 MHz, the middle of which is no channel (Ofcom)',
    entries: [{ band: 'n77', low_mhz: 3800, high_mhz: 3810 }],
    bandwidth_mhz: 10,
    fits: [653_666, 653_667],
    sticksOut: [653_665, 653_668],
  },
  {
    what: 'two blocks that touch, for one carrier over both',
    entries: [
      { band: 'n77', low_mhz: 3810, high_mhz: 3820 },
      { band: 'n77', low_mhz: 3800, high_mhz: 3810 },
    ],
    bandwidth_mhz: 20,
    fits: [654_000],
    sticksOut: [653_998, 654_002],
  },
  {
    what: 'blocks by channels with no channel between them',
    entries: [
      { technology: 'lte', band: 'b3', earfcn_min: 1250, earfcn_max: 1299 },
      { technology: 'lte', band: 'b3', earfcn_min: 1300, earfcn_max: 1350 },
    ],
    bandwidth_mhz: 10,
    fits: [1300],
    sticksOut: [1299, 1301],
  },
  {
    what: 'CBRS (FCC part 96): 3550 to 3700 MHz',
    entries: [{ technology: 'lte', band: 'b48', low_mhz: 3550, high_mhz: 3700 }],
    bandwidth_mhz: 20,
    fits: [55_340, 55_990, 56_640],
    sticksOut: [],
  },
  {
    what: 'a rural LTE block',
    entries: [{ technology: 'lte', band: 'b28', low_mhz: 758, high_mhz: 768 }],
    bandwidth_mhz: 10,
    fits: [9260],
    sticksOut: [9261],
  },
]

for (const { what, entries, bandwidth_mhz, fits, sticksOut } of LICENSES) {
  check(`holds a carrier to ${what}`, () => {
    const list = entries.map((entry) => ({ ...N78, ...entry }))
    const [{ technology, band } = N78] = list
    const result = (channel: number): CheckResult =>
      ask({ technology, channels: [channel], band, bandwidth_mhz }, { list })
    for (const channel of fits)
      assert.is(result(channel).allowed, true, `${channel}: ${result(channel).reason}`)
    for (const channel of sticksOut) {
      const [refused] = result(channel).results
      assert.is(refused?.allowed, false, String(channel))
      const [nearest = 0] = refused?.nearest_channels ?? []
      assert.is(Math.abs(nearest - channel) <= 2 && result(nearest).allowed, true, `${channel} -> ${nearest}`)
      assert.match(refused?.reason ?? '', new RegExp(`nearest channel that fits is ${nearest}`))
    }
  })
}

check('does not join blocks with spectrum between them, and says when no channel of the width fits', () => {
  const list = [
    { ...N78, low_mhz: 3700, high_mhz: 3710 },
    { ...N78, low_mhz: 3710.1, high_mhz: 3720 },
  ]
  const result = ask({ channels: [647_333], band: 'n78', bandwidth_mhz: 20 }, { list })
  assert.is(result.allowed, false)
  assert.match(result.reason, /3699.995 to 3719.995 MHz.*no channel of this width fits/)
  assert.equal(ask({ channels: [640_000], band: 'n78', bandwidth_mhz: 10 }, { list }).allowed, false)
})

check('keeps the power limit of each part of joined blocks', () => {
  const list = [
    { ...B3, earfcn_min: 1250, earfcn_max: 1300, max_eirp_dbm: 10 },
    { ...B3, earfcn_min: 1300, earfcn_max: 1350 },
  ]
  const carrier = { technology: 'lte' as const, channel: 1300, bandwidthMhz: 10, eirpDbm: 20 }
  const covered = coverageOf(countryList(list, 'DE'), { carrier, isForSending: true })
  assert.match(covered.isCovered ? '' : covered.reason, /limits b3 to 10 dBm/)
  const weaker = { carrier: { ...carrier, eirpDbm: 10 }, isForSending: true }
  assert.is(coverageOf(countryList(list, 'DE'), weaker).isCovered, true)
})

check('takes channels by each name that people have for them', () => {
  const list = [B3, N78]
  const same: readonly CheckBody[] = [
    { technology: 'lte', channels: [1300] },
    { channel: 1300 },
    { earfcn: 1300 },
    { earfcn: [1300], band: 3 },
    { channels: [1300], band: 'b3' },
    { frequency_mhz: 1815 },
    { frequency_mhz: [1815], technology: 'lte', band: 3 },
  ]
  for (const body of same) {
    const { allowed, technology, results } = ask(body, { list })
    assert.equal([allowed, technology, results[0]?.channel], [true, 'lte', 1300], JSON.stringify(body))
  }
  for (const body of [
    { nr_arfcn: 650_000 },
    { channel: 650_000, band: 78 },
    { frequency_mhz: 3750, band: 'n78' },
    { frequency_mhz: 3750 },
  ]) {
    const { allowed, technology, results } = ask(body, { list })
    assert.equal([allowed, technology, results[0]?.channel], [true, 'nr', 650_000], JSON.stringify(body))
  }
  assert.is(ask({ frequency_mhz: 2655 }, { list }).gate, 'allow-list')
  assert.equal(pointersOf({}), ['/channels'])
  assert.equal(pointersOf({ earfcn: 1300, nr_arfcn: 1300 }), ['/nr_arfcn'])
  assert.equal(pointersOf({ earfcn: 1300, band: 'n3' }), ['/band'])
  assert.equal(pointersOf({ frequency_mhz: 1 }), ['/frequency_mhz'])
})

check('wants the edges of the carrier inside the entry, not only its centre', () => {
  const list = [{ ...B3, earfcn_min: 1250, earfcn_max: 1350 }]
  assert.is(ask(lte(1300, 10), { list }).allowed, true)
  assert.is(ask(lte(1301, 10), { list }).allowed, false)
  assert.is(ask(lte(1299, 10), { list }).allowed, false)
  assert.is(ask(lte(1300, 15), { list }).allowed, false)
  assert.is(ask(lte(1350), { list }).allowed, true)
  assert.is(ask(lte(1351), { list }).allowed, false)
})

check('takes the first and last channel of a band for its edges', () => {
  const list = [{ ...B3, earfcn_min: 1200, earfcn_max: 1949 }]
  assert.is(ask(lte(1250, 10), { list }).allowed, true)
  assert.is(ask(lte(1900, 10), { list }).allowed, true)
  const n78: AllowListEntry = {
    technology: 'nr',
    band: 'n78',
    country: 'DE',
    earfcn_min: 620_000,
    earfcn_max: 653_333,
  }
  const request: CheckRequest = { technology: 'nr', channels: [652_000], bandwidth_mhz: 40, band: 'n78' }
  assert.is(ask(request, { list: [n78] }).allowed, true)
})

check('finds the one band of several that is in the allow-list', () => {
  const n78: AllowListEntry = { technology: 'nr', band: 'n78', country: 'DE' }
  const request: CheckRequest = { technology: 'nr', channels: [630_000], bandwidth_mhz: 20 }
  const [found] = ask(request, { list: [n78] }).results
  assert.ok(found !== undefined && found.bands.length > 1 && found.bands.includes('n77'))
  assert.is(found?.band, 'n78')
  assert.is(ask({ ...request, band: 'n77' }, { list: [n78] }).allowed, false)
  assert.is(ask(request, { list: [{ ...n78, technology: 'lte', band: 'b42' }] }).allowed, false)
})

check('asks the allow-list of the country that the request names', () => {
  const list = [{ ...B3, country: 'FR' }]
  assert.is(ask(lte(1300), { list }).allowed, false)
  assert.is(ask({ ...lte(1300), country: 'FR' }, { list }).allowed, true)
  assert.is(ask({ ...lte(1300), country: 'FR' }, { list, country: 'LAB' }).gate, 'country-code')
})

check('checks each channel by itself and reports the first that is blocked', () => {
  const result = ask({ technology: 'lte', channels: [1300, 100, 1400, 200] })
  assert.equal(
    result.results.map(({ allowed }) => allowed),
    [true, false, true, false],
  )
  assert.is(result.allowed, false)
  assert.is(result.channels_checked, 4)
  assert.match(result.reason, /EARFCN 100 /)
})

check('does not take an uplink number for a downlink channel', () => {
  const result = ask(lte(19_300))
  assert.is(result.gate, 'allow-list')
  assert.match(result.reason, /uplink channel of b3; give the downlink channel, 1300/)
  assert.equal(result.results[0]?.bands, ['b3'])
})

check('refuses a carrier that is no channel of its band, and says why', () => {
  assert.match(ask(lte(1201, 20)).reason, /reserved|sticks out/)
  const n78: AllowListEntry = { technology: 'nr', band: 'n78', country: 'DE' }
  const edge: CheckRequest = { technology: 'nr', channels: [620_001], bandwidth_mhz: 100, band: 'n78' }
  assert.is(ask(edge, { list: [n78] }).allowed, false)
})

check('says which part of a request means nothing', () => {
  assert.equal(pointersOf({ technology: 'lte', channels: [1300, 65_000, 200_000] }), [
    '/channels/1',
    '/channels/2',
  ])
  assert.equal(pointersOf({ ...lte(1300), band: 'b1' }), ['/channels/0'])
  assert.equal(pointersOf({ ...lte(1300), band: 'b99' }), ['/band'])
  assert.equal(pointersOf({ ...lte(1300), band: 'n3' }), ['/band'])
  assert.equal(pointersOf({ ...lte(1300), country: 'XX' }), ['/country'])
  assert.equal(pointersOf(lte(1300, 7)), ['/bandwidth_mhz'])
  assert.equal(pointersOf({ technology: 'nr', channels: [3_279_165] }), ['/channels/0'])
})

check('ignores power limits, which the request does not speak of', () => {
  assert.is(ask(lte(1300), { list: [{ ...B3, max_eirp_dbm: 10 }] }).allowed, true)
})

check('answers the largest request against the largest allow-list quickly', () => {
  const list = Array.from({ length: 512 }, (_, at): AllowListEntry => {
    return {
      technology: 'nr',
      band: 'n78',
      country: 'DE',
      earfcn_min: 620_000 + at,
      earfcn_max: 620_100 + at,
    }
  })
  const channels = Array.from({ length: 256 }, (_, at) => 640_000 + 2 * at)
  const startedMs = cpuMs()
  const result = ask({ technology: 'nr', channels, bandwidth_mhz: 20 }, { list })
  assert.is(result.channels_checked, 256)
  assert.is(result.allowed, false)
  // About 60 ms on a small machine; each entry judged anew for each channel would take 13 s.
  assert.ok(cpuMs() - startedMs < 2_000)
})

check.run()
