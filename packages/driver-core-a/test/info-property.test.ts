import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { amfUe, enb, gnb, mmeUe, smfPdu } from '../src/info/entries.ts'
import { gaugeIn } from '../src/info/gauges.ts'
import { parsePage } from '../src/info/pages.ts'
import { recording } from './support/recordings.ts'

const property = suite('driver-core-a/info properties')

const FIELDS = [
  'supi',
  'mm_state',
  'cm_state',
  'pdn',
  'pdu',
  'pdu_sessions',
  'enb_id',
  'gnb_id',
  'plmn',
  's1',
  'ng',
]
const near = fc.dictionary(
  fc.constantFrom(...FIELDS),
  fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('registered', 'imsi-999990000000001', '999990000000001', 'connected', '5gs', null),
    fc.array(fc.record({ apn: fc.jsonValue(), dnn: fc.jsonValue() }, { requiredKeys: [] })),
  ),
)

property('reads garbage as nothing or as a whole entry, and never throws', async () => {
  await fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), near, fc.anything()), (item) => {
      for (const read of [mmeUe, amfUe]) {
        const ue = read(item)
        if (ue === undefined) continue
        assert.match(ue.imsi, /^[0-9]{6,15}$/)
        assert.type(ue.isRegistered, 'boolean')
        assert.ok(
          ue.apns.length <= 16 && ue.apns.every((apn) => typeof apn === 'string' && apn.length <= 100),
        )
      }
      const pdu = smfPdu(item)
      if (pdu !== undefined) assert.match(pdu.imsi, /^[0-9]{6,15}$/)
      for (const read of [enb, gnb]) assert.type(read(item)?.isSetUp ?? false, 'boolean')
    }),
  )
})

property('reads a base station whose network is no text', () => {
  for (const plmn of ['{"toString":null}', '[{"toString":1}]', 'null', '99970']) {
    const item: unknown = JSON.parse(`{"enb_id":7,"plmn":${plmn},"s1":{"setup_success":true}}`)
    assert.equal(enb(item), { id: 'unknown-7', plmns: [], isSetUp: true })
  }
})

property('reads no page from a text that is none', async () => {
  await fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
      const page = parsePage(text)
      assert.ok(page === undefined || Array.isArray(page.items))
    }),
  )
})

property('reads a recorded page however it is cut off as the page or as nothing', async () => {
  const text = recording('mme-ue-info.pager-page0-size2.json.txt').trim()
  await fc.assert(
    fc.property(fc.nat(text.length), (length) => {
      const page = parsePage(text.slice(0, length))
      assert.is(page?.items.length, length === text.length ? 2 : undefined)
    }),
  )
  assert.equal(parsePage(text)?.hasNext, true)
  assert.equal(parsePage(recording('mme-ue-info.pager-page1-size2.json.txt'))?.hasNext, false)
})

property('finds a gauge in a recorded page of metrics, and none in garbage', async () => {
  assert.is(gaugeIn(recording('smf-metrics.one-ue-attached.txt'), 'pfcp_peers_active'), 1)
  assert.is(gaugeIn(recording('smf-metrics.one-ue-attached.txt'), 'pfcp_peers'), undefined)
  await fc.assert(
    fc.property(fc.string(), (page) => {
      const value = gaugeIn(page, 'pfcp_peers_active')
      assert.ok(value === undefined || Number.isFinite(value))
    }),
  )
})

property.run()
