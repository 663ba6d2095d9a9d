import { assert, suite } from '@steeple/testkit'
import fc from 'fast-check'
import {
  type Announcement,
  type HeardService,
  instanceName,
  suggestionFrom,
  txtOf,
} from '../../src/discovery/announcement.ts'

const saying = suite('mesh/discovery/announcement')

const NODE: Announcement = {
  nodeId: '11111111-2222-4333-8444-555555555555',
  name: 'Dorfplatz 3.1',
  meshName: 'Tal',
  fingerprint: 'ab'.repeat(32),
  port: 8_443,
}
const FROM = { address: '192.0.2.7', family: 'IPv4', port: 5_353, size: 300 }
const HEARD = { port: NODE.port, txt: txtOf(NODE), referer: FROM }

saying('hears what it says, at the address that the message came from', () => {
  const heard = { ...HEARD, addresses: ['203.0.113.99'], host: 'elsewhere.example' }
  const suggestion = suggestionFrom(heard, 5)
  assert.equal({ ...suggestion, id: '' }, { ...NODE, id: '', address: '192.0.2.7', heardAtMs: 5 })
  assert.match(suggestion?.id ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
})

saying('keeps apart who says the same from elsewhere', () => {
  const ids = [
    HEARD,
    { ...HEARD, referer: { ...FROM, address: '192.0.2.8' } },
    { ...HEARD, port: 9_443 },
    { ...HEARD, txt: { ...HEARD.txt, fp: 'cd'.repeat(32) } },
  ].map((heard) => suggestionFrom(heard, 0)?.id)
  assert.is(new Set(ids).size, 4)
})

saying('makes nothing of what does not keep to the form', () => {
  const { txt } = HEARD
  const wrong: readonly HeardService[] = [
    {},
    { ...HEARD, txt: undefined },
    { ...HEARD, txt: { ...txt, v: '2' } },
    { ...HEARD, txt: { ...txt, id: 'not-a-uuid' } },
    { ...HEARD, txt: { ...txt, id: txt.id?.toUpperCase().replace('1', 'A') } },
    { ...HEARD, txt: { ...txt, fp: 'ab' } },
    { ...HEARD, txt: { ...txt, name: '' } },
    { ...HEARD, txt: { ...txt, name: 'x'.repeat(65) } },
    { ...HEARD, txt: { ...txt, name: 'a\u001b[2Jb' } },
    { ...HEARD, txt: { ...txt, mesh: 'a\u202eb' } },
    { ...HEARD, txt: { ...txt, mesh: 'two\nlines' } },
    {
      ...HEARD,
      txt: { ...txt, ...Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, 'v'])) },
    },
    { ...HEARD, port: 0 },
    { ...HEARD, port: 70_000 },
    { ...HEARD, port: '8443' },
    { ...HEARD, referer: undefined },
    { ...HEARD, referer: { address: 'host.example' } },
  ]
  for (const heard of wrong) assert.is(suggestionFrom(heard, 0), undefined, JSON.stringify(heard))
})

saying('throws at nothing that a stranger may send', () => {
  const anything = fc.anything({ withNullPrototype: true, maxDepth: 3 })
  fc.assert(
    fc.property(anything, anything, anything, (port, txt, referer) => {
      suggestionFrom({ port, txt, referer }, 0)
    }),
  )
})

saying('keeps to the length of an instance name, whatever the node is called', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 64 }), (name) => {
      const text = instanceName({ ...NODE, name })
      assert.ok(Buffer.byteLength(text) <= 63)
      assert.ok(text.endsWith(' 11111111'))
      assert.not.ok(text.includes('.'))
    }),
  )
})

saying.run()
