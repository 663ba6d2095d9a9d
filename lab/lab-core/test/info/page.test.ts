import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { cjson, cjsonNumber, type Json, pageOf } from '../../src/info/info-server.ts'
import { recorded } from '../support/lab.ts'

const page = suite('lab-core/info/page')
const listing = (items: readonly Json[], hasAllAtOnce = false) => ({
  path: '/ue-info',
  hasAllAtOnce,
  items,
  show: (item: Json) => item,
})
const ask = (items: readonly Json[], query: string, hasAllAtOnce = false) =>
  pageOf(listing(items, hasAllAtOnce), new URLSearchParams(query))
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_none, i) => i)

page('prints the recorded pages byte for byte', () => {
  const first = recorded('mme-ue-info.pager-page0-size2.json.txt').trim()
  const second = recorded('mme-ue-info.pager-page1-size2.json.txt').trim()
  const items = [first, second].flatMap((text) => (JSON.parse(text) as { items: Json[] }).items)
  assert.is(ask(items, 'page=0&page_size=2'), first)
  assert.is(ask(items, 'page=1&page_size=2'), second)
})

page('never serves more than 100, and forgets the size that was asked for in next and prev', () => {
  const body = JSON.parse(ask(numbers(250), 'page=1&page_size=1000'))
  assert.equal(body.pager, {
    page: 1,
    page_size: 100,
    count: 100,
    prev: '/ue-info?page=0',
    next: '/ue-info?page=2',
  })
  assert.is(JSON.parse(ask(numbers(250), 'page=1&page_size=10')).pager.next, '/ue-info?page=2')
  assert.equal(JSON.parse(ask(numbers(250), 'page=9')).items, [])
  assert.is(JSON.parse(ask(numbers(200), 'page=1')).pager.next, undefined)
})

page('takes page -1 for all where it is known, and for the first page where it is not', () => {
  assert.is(JSON.parse(ask(numbers(250), 'page=-1', true)).items.length, 250)
  assert.equal(JSON.parse(ask(numbers(250), 'page=-1')).pager, {
    page: 0,
    page_size: 100,
    count: 100,
    next: '/ue-info?page=1',
  })
})

page('takes numbers that are none for the defaults', () => {
  for (const query of ['page=x&page_size=y', 'page=&page_size=', 'page=1.5&page_size=0', 'page=-2'])
    assert.is(ask(numbers(3), query), ask(numbers(3), ''), query)
})

page('says nothing but {} above 512 KiB', () => {
  const long = 'x'.repeat(6_000)
  assert.is(
    ask(
      Array.from({ length: 100 }, () => long),
      '',
    ),
    '{}',
  )
  assert.ok(
    JSON.parse(
      ask(
        Array.from({ length: 80 }, () => long),
        '',
      ),
    ).items.length === 80,
  )
})

page('prints numbers as cJSON does: a timestamp that ends in 0 with an exponent', () => {
  assert.is(cjsonNumber(1795175591842580), '1.79517559184258e+15')
  assert.is(cjsonNumber(1795175304512721), '1795175304512721')
  assert.is(cjsonNumber(2147483648), '2147483648')
  assert.is(cjsonNumber(4294967295), '4294967295')
  assert.is(cjsonNumber(-0.5), '-0.5')
  assert.is(cjsonNumber(1e-7), '1e-07')
  assert.is(cjsonNumber(0), '0')
  assert.is(cjsonNumber(Number.NaN), 'null')
})

page('prints what reads back as the same, numbers up to their last bit', () => {
  const values = [
    fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter) }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
  ]
  fc.assert(
    fc.property(fc.object({ values }), (value) => {
      assert.is(JSON.stringify(JSON.parse(cjson(value as Json))), JSON.stringify(value))
    }),
  )
  // Beyond 1e300 fifteen digits can round to infinity, in cJSON too.
  fc.assert(
    fc.property(fc.double({ noNaN: true, min: -1e300, max: 1e300 }), (value) => {
      assert.ok(Math.abs(Number(cjsonNumber(value)) - value) <= Math.abs(value) * Number.EPSILON)
    }),
  )
})

page.run()
