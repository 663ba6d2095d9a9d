import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { parseRegistrations } from '../../src/amf/amf-client.ts'
import { uesFrom } from '../../src/core-b.ts'

const registered = suite('driver-core-b/registered phones')

/** As an AMF gave it. */
const RECORDED =
  '[{"AccessType":"3GPP_ACCESS","Supi":"imsi-208930000000001","Guti":"20893cafe0000000001","Mcc":"208","Mnc":"93","Tac":"000001","PduSessions":[{"PduSessionId":"2","SmContextRef":"urn:uuid:8f4b5b0a-2f0e-4d2e-9d5c-0123456789a2","Sst":"1","Sd":"010203","Dnn":"internet"},{"PduSessionId":"1","SmContextRef":"urn:uuid:8f4b5b0a-2f0e-4d2e-9d5c-0123456789a1","Sst":"1","Sd":"","Dnn":"ims"}],"CmState":"CONNECTED"},{"AccessType":"3GPP_ACCESS","Supi":"imsi-208930000000002","Guti":"20893cafe0000000002","Mcc":"208","Mnc":"93","Tac":"000001","PduSessions":null,"CmState":"IDLE"}]'

registered('reads what an AMF lists', async () => {
  assert.equal(uesFrom(parseRegistrations(RECORDED)), [
    { imsi: '208930000000001', isRegistered: true, apns: ['ims', 'internet'], isConnected: true },
    { imsi: '208930000000002', isRegistered: true, apns: [], isConnected: false },
  ])
})

registered('takes null for nobody', async () => {
  assert.equal(parseRegistrations('null'), [])
  assert.equal(parseRegistrations('[]'), [])
})

registered('leaves out who has no IMSI', async () => {
  assert.equal(parseRegistrations('[{"Supi":"nai-someone@example","PduSessions":null,"CmState":"IDLE"}]'), [])
})

registered('throws for anything that could hide a phone, and repeats nothing of it', async () => {
  const texts = [
    '',
    'Hello World!',
    '{}',
    '{"Supi":"imsi-208930000000001"}',
    '[null]',
    '[{"supi":"imsi-208930000000001"}]',
    '[{"Supi":208930000000001}]',
    '[{"Supi":"imsi-208930000000001","PduSessions":{"1":{}}}]',
  ]
  for (const text of texts) {
    assert.throws(
      () => parseRegistrations(text),
      (error: Error & { code?: string }) => {
        return error.code === 'southbound_unavailable' && !error.message.includes('20893')
      },
    )
  }
})

registered('never throws anything else, whatever it is given', async () => {
  await fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.json().map((text) => `[${text}]`),
      ),
      (text) => {
        try {
          uesFrom(parseRegistrations(text))
        } catch (error) {
          assert.is((error as { code?: string }).code, 'southbound_unavailable')
        }
      },
    ),
  )
})

const session = fc.record({
  SmContextRef: fc.uuid().map((id) => `urn:uuid:${id}`),
  Dnn: fc.constantFrom('a', 'b', 'c'),
})
const entry = fc.record({
  Supi: fc.integer({ min: 1, max: 30 }).map((number) => `imsi-99970${String(number).padStart(10, '0')}`),
  CmState: fc.constantFrom('CONNECTED', 'IDLE'),
  PduSessions: fc.option(fc.array(session, { maxLength: 3 })),
})

registered('makes one phone of all accesses of a subscriber, whatever their order', async () => {
  await fc.assert(
    fc.property(fc.array(entry, { maxLength: 40 }), fc.func(fc.integer()), (entries, orderOf) => {
      const ues = uesFrom(parseRegistrations(JSON.stringify(entries)))
      const other = entries.toSorted((a, b) => orderOf(a) - orderOf(b))
      const again = uesFrom(parseRegistrations(JSON.stringify(other)))
      const sorted = (list: typeof ues) => list.toSorted((a, b) => (a.imsi < b.imsi ? -1 : 1))
      assert.equal(sorted(again), sorted(ues))
      assert.is(ues.length, new Set(entries.map(({ Supi }) => Supi)).size)
      for (const ue of ues) {
        const own = entries.filter(({ Supi }) => Supi === `imsi-${ue.imsi}`)
        assert.is(
          ue.isConnected,
          own.some(({ CmState }) => CmState === 'CONNECTED'),
        )
        const dnns = own.flatMap(({ PduSessions }) => (PduSessions ?? []).map(({ Dnn }) => Dnn))
        assert.equal(ue.apns, [...new Set(dnns)].toSorted())
      }
    }),
  )
})

registered.run()
