import type { AllowListEntry, SpectrumLicense } from '@steeple/contracts'
import { isServiceError } from '@steeple/contracts'
import { assert, cpuMs, suite } from '@steeple/testkit'
import { type CheckRequest, type CheckResult, checkSpectrum } from '../../src/spectrum/check.ts'

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

function ask(request: CheckRequest, { list = [B3], country = 'DE', license = {} }: Basis = {}): CheckResult {
  return checkSpectrum(request, {
    country,
    nowMs: NOW,
    spectrum: { allow_list: list, license: { ...LICENSE, ...license } },
  })
}

function pointersOf(request: CheckRequest): readonly string[] {
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
