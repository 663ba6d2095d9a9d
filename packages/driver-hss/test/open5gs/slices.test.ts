import type { Subscriber } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { Double, Int32 } from 'bson'
import { checkSubscriber } from '../../src/check-subscriber.ts'
import { encodeAmbr } from '../../src/open5gs/ambr.ts'
import { freshSession } from '../../src/open5gs/document.ts'
import { mergedSlices, type SliceWish } from '../../src/open5gs/slices.ts'
import { subscriber } from '../support/subscribers.ts'

const slices = suite('driver-hss/open5gs/slices')
const ambr = encodeAmbr({ up: 1_000_000, down: 2_000_000 })
const wish: SliceWish = { slices: [{ sst: 1 }], apns: ['internet', 'ims'], ambr }

slices('gives a new subscriber one session for each APN in each slice', () => {
  const list = mergedSlices(undefined, { ...wish, slices: [{ sst: 1 }, { sst: 1, sd: '00ABCD' }] })
  const session = [freshSession('internet', ambr), freshSession('ims', ambr)]
  assert.equal(list, [
    { sst: new Int32(1), default_indicator: true, session },
    { sst: new Int32(1), sd: '00abcd', default_indicator: false, session },
  ])
})

slices('keeps what an operator set: addresses, QoS, rules, further slices', () => {
  const own = {
    ...freshSession('internet', encodeAmbr({ up: 5, down: 5 })),
    ue: { ipv4: '10.45.0.9' },
    qos: { index: new Int32(7), arp: freshSession('x', ambr).qos },
    pcc_rule: [{ flow: [] }],
  }
  const arp = {
    priority_level: new Int32(1),
    pre_emption_capability: new Int32(1),
    pre_emption_vulnerability: new Int32(1),
  }
  const mine = { ...own, qos: { index: new Int32(7), arp } }
  const other = { sst: new Int32(2), session: [freshSession('private', ambr)] }
  const old = [{ sst: new Int32(1), default_indicator: true, session: [mine], lbo: true }, other]
  assert.equal(mergedSlices(old, wish), [
    {
      sst: new Int32(1),
      default_indicator: true,
      lbo: true,
      session: [{ ...mine, ambr }, freshSession('ims', ambr)],
    },
    other,
  ])
})

slices('replaces what has a type that the core ignores', () => {
  const bad = { ...freshSession('internet', ambr), type: new Double(3), qos: { index: new Double(9) } }
  const old = [{ sst: new Double(1), session: [bad] }]
  assert.equal(mergedSlices(old, wish), mergedSlices(undefined, wish))
})

slices('refuses more slices than the core survives', () => {
  const old = Array.from({ length: 8 }, (_none, index) => ({ sst: new Int32(index + 2), session: [] }))
  assert.throws(() => mergedSlices(old, wish), /8 slices/)
})

slices('checks a subscriber before anything is written', () => {
  const refused: readonly (readonly [RegExp, Partial<Subscriber>])[] = [
    [/4 APNs/, { apns: ['a', 'b', 'c', 'd', 'e'] }],
    [/at least one APN/, { apns: [] }],
    [/only once/, { apns: ['ims', 'IMS'] }],
    [/APN "a b"/, { apns: ['a b'] }],
    [/16 octets/, { ki: Buffer.alloc(15) }],
    [/2\^48/, { sqn: 2n ** 48n }],
    [/2\^48/, { sqn: -1n }],
    [/MSISDN/, { msisdn: '+43' }],
    [/AMBR/, { ambrBps: { up: 0, down: 1 } }],
  ]
  for (const [words, more] of refused) assert.throws(() => checkSubscriber(subscriber(1, more)), words)
  checkSubscriber(subscriber(1, { apns: ['a', 'b', 'c', 'd'], msisdn: '43660123' }))
})

slices.run()
