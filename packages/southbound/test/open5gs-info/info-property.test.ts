import { isIPv4, isIPv6 } from 'node:net'
import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { amfUe, enb, gaugeIn, gnb, mmeUe } from '../../src/open5gs-info/entries.ts'
import { smfPdu } from '../../src/open5gs-info/info-ref.ts'
import { parsePage } from '../../src/open5gs-info/pages.ts'
import { recording } from './support/recordings.ts'

const property = suite('open5gs-info/parsers')

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
    fc.array(
      fc.dictionary(
        fc.constantFrom('apn', 'dnn', 'ebi', 'psi', 'ipv4', 'ipv6', 'pdu_state'),
        fc.oneof(fc.jsonValue(), fc.constantFrom('internet', '10.45.0.2', '2001:db8::2', 'active', 5)),
      ),
    ),
  ),
)

const garbage = fc.oneof(fc.jsonValue(), near, fc.anything())

property('reads garbage as no phone or as a whole one, and never throws', async () => {
  await fc.assert(
    fc.property(garbage, (item) => {
      for (const read of [mmeUe, amfUe]) {
        const ue = read(item)
        if (ue === undefined) continue
        assert.match(ue.imsi, /^[0-9]{6,15}$/)
        assert.type(ue.isRegistered, 'boolean')
        assert.ok(ue.connections.length <= 16)
        assert.ok(ue.apns.every((apn) => typeof apn === 'string' && apn.length <= 100))
      }
      for (const read of [enb, gnb]) assert.type(read(item)?.isSetUp ?? false, 'boolean')
    }),
  )
})

property('reads garbage as no session or as a whole one, and never throws', async () => {
  await fc.assert(
    fc.property(garbage, (item) => {
      const pdu = smfPdu(item)
      if (pdu === undefined) return
      assert.match(pdu.imsi, /^[0-9]{6,15}$/)
      assert.ok(pdu.sessions.length <= 16)
      for (const { ipv4, ipv6, id } of pdu.sessions) {
        assert.ok(isIPv4(ipv4 ?? '0.0.0.0') && isIPv6(ipv6 ?? '::'))
        assert.ok(Number.isSafeInteger(id) && id >= 0)
      }
    }),
  )
})

property('reads a base station whose network is no text', () => {
  for (const plmn of ['{"toString":null}', '[{"toString":1}]', 'null', '99970']) {
    const item: unknown = JSON.parse(`{"enb_id":7,"plmn":${plmn},"s1":{"setup_success":true}}`)
    assert.equal(enb(item), {
      ...{ id: 'unknown-7', number: 7, plmns: [], isSetUp: true },
      address: undefined,
    })
  }
})

property('reads where the association of a base station comes from', () => {
  const from = (peer: unknown) => enb({ enb_id: 7, s1: { setup_success: true, sctp: { peer } } })?.address
  assert.is(from('[127.0.0.200]:54201'), '127.0.0.200')
  assert.is(from('[2001:db8::7]:36412'), '2001:db8::7')
  for (const peer of ['127.0.0.200', '[]:1', '[x]:1', 7, null]) assert.is(from(peer), undefined)
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
