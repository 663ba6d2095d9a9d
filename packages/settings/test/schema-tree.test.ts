import type { JsonSchema } from '@steeple/contracts'
import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { claimedTwice, leavesOf, mergedSchema } from '../src/schema-tree.ts'
import { schemaProblem } from '../src/validate.ts'
import { problems, SECTIONS, sectionOf } from './load-helper.ts'

const schema = suite('settings/schema-tree')
const SIZE = { size: { type: 'integer', default: 1 } }

schema('has a default, an x-apply and a description for every key of the service and its plugins', () => {
  const leaves = leavesOf(mergedSchema(SECTIONS))
  assert.ok(leaves.length > 80)
  for (const leaf of leaves) {
    const key = leaf.path.join('.')
    assert.is.not(leaf.schema.default, undefined, key)
    assert.ok(['hot', 'reload', 'restart'].includes(String(leaf.schema['x-apply'])), key)
    assert.match(String(leaf.schema.description), /^.{8,}$/, key)
  }
})

schema('puts plugins together, however deep their keys, and lets the first keep a key', () => {
  const at = (path: string, inner: object): object =>
    path.split('.').reduceRight<object>((below, name) => ({ properties: { [name]: below } }), inner)
  const merged = mergedSchema([
    sectionOf('one', at('a.b.c', { properties: SIZE })),
    sectionOf('two', at('a.d', { properties: SIZE })),
    sectionOf('zero', at('a.d', { properties: { size: { type: 'string' } } })),
  ])
  const own = leavesOf(mergedSchema([])).map(({ path }) => path.join('.'))
  const leaves = leavesOf(merged)
  const keys = leaves.map(({ path }) => path.join('.'))
  assert.equal(
    keys.filter((key) => !own.includes(key)),
    ['a.b.c.size', 'a.d.size'],
  )
  assert.is(leaves.find(({ path }) => path.join('.') === 'a.d.size')?.schema.type, 'integer')
})

schema(
  'lets a key that chooses a driver name what installed plugins call themselves, and says which they are',
  () => {
    const other = {
      ...sectionOf('driver-other', { properties: {} }),
      selects: { key: 'core', values: ['other_core'] },
    }
    const sections = [...SECTIONS, other]
    assert.equal(problems('core: other_core', { sections }), [])
    assert.equal(problems('core: othr_core', { sections }), [
      'control.yaml:1:7: core must name an installed driver, one of core_a, core_b, other_core, not "othr_core". Did you mean other_core?',
    ])
    assert.match(problems('core: other_core')[0] ?? '', /one of core_a, core_b, not "other_core"/)
    const names = SECTIONS.flatMap(({ selects }) => (selects?.key === 'hss.driver' ? selects.values : []))
    assert.ok(names.length > 1)
    assert.ok(
      problems('hss: {driver: other_hss}')[0]?.includes(
        `hss.driver must name an installed driver, one of ${names.join(', ')}, not "other_hss"`,
      ),
    )
    // What is known and not here names nothing.
    assert.match(
      problems('core: other_core', { sections: [...SECTIONS, { ...other, origin: 'known' }] })[0] ?? '',
      /not "other_core"/,
    )
  },
)

schema('says whose a key is that two plugins claim', () => {
  const mine = sectionOf('mine', { properties: { a: { properties: SIZE } } })
  const theirs = sectionOf('theirs', { properties: { a: { properties: SIZE } } })
  assert.is(claimedTwice(mine, [theirs]), 'the key a.size belongs to theirs')
  assert.is(claimedTwice(mine, [mine, sectionOf('other', { properties: { b: SIZE.size } })]), undefined)
})

schema('refuses a schema that cannot be used, and says why', () => {
  const of = (properties: object, more: object = {}): string | undefined =>
    schemaProblem({ properties, ...more })
  assert.is(of({ a: SIZE.size }), undefined)
  assert.match(of({ server: SIZE.size }) ?? '', /claims server, which is the service's own/)
  assert.is(of({ telemetry: { properties: SIZE } }), undefined, 'a group that it shares')
  assert.match(of({ telemetry: SIZE.size }) ?? '', /claims telemetry/)
  assert.match(of({ telemetry: { properties: { metrics: SIZE.size } } }) ?? '', /claims telemetry/)
  assert.match(of({ a: { type: 'integr' } }) ?? '', /is no schema: /)
  assert.match(of({ a: { type: 'string', format: 'colour' } }) ?? '', /unknown format "colour"/)
  assert.match(of({ 'A-b': SIZE.size }) ?? '', /has the key A-b/)
  assert.match(of({ a: { ...SIZE.size, 'x-env': { name: 'PATH' } } }) ?? '', /the variable PATH for a/)
  assert.match(of({ a: { ...SIZE.size, 'x-apply': 'soon' } }) ?? '', /x-apply soon for a/)
  assert.match(of({}, { required: ['a'] }) ?? '', /has required at its root/)
})

/** Every one of these kept the service, and each command that reads the configuration, from starting. */
schema('refuses a schema that would tell in those of others, or break the check of all', () => {
  const key = (leaf: unknown): object => ({ properties: { mine: leaf } })
  const nested = JSON.parse(`${'{"properties":{"a":'.repeat(20_000)}{}${'}}'.repeat(20_000)}`)
  const refused: readonly (readonly [object, RegExp])[] = [
    [key(null), /the property mine, which is no schema/],
    [{ properties: [] }, /properties that are no map/],
    [nested, /nested deeper than 40 levels/],
    [key({ type: 'string', $id: 'x' }), /has \$id/],
    [{ ...key({}), allOf: [{ $ref: '#/properties/mine' }] }, /has \$ref/],
    [{ ...key({}), allOf: [{ properties: { tls: { default: { enabled: true } } } }] }, /a default in allOf/],
    [key({ type: 'string', 'x-env': null }), /x-env that is no map/],
    [
      key({ type: 'string', 'x-env': { name: 'SVC_STORE_URL' } }),
      /SVC_STORE_URL for mine, which is the service/,
    ],
    [key({ type: 'string', 'x-env': { name: 'SVC_ADMIN_TOKEN' } }), /SVC_ADMIN_TOKEN for mine/],
    [key({ type: 'string', 'x-range': 5 }), /x-range that is no list/],
    [{ properties: { constructor: { type: 'string' } } }, /not constructor/],
  ]
  for (const [one, words] of refused) assert.match(schemaProblem(one as JsonSchema) ?? '', words)
  const odd = key({ type: 'object', 'x-apply': 'hot', properties: { default: {}, $id: {}, properties: {} } })
  const relation = { if: { properties: { default: { const: { $id: 1 } } } }, else: {} }
  assert.is(schemaProblem({ ...odd, allOf: [relation] } as JsonSchema), undefined)
})

schema(
  'lets nobody require what is no key of its own, or claim what is above or below the key of another',
  () => {
    const group = (own: object): object => ({ properties: { shared: own } })
    const build = sectionOf('b', group({ properties: SIZE }), 'build')
    const greedy = sectionOf(
      'g',
      group({ properties: { ...SIZE, own: {} }, required: ['own', 'size', 'zzz'] }),
    )
    const merged = mergedSchema([build, greedy]) as {
      properties: { shared: { required: readonly string[] } }
    }
    assert.equal(merged.properties.shared.required, ['own'])
    const above = sectionOf('a', group({ type: 'object', default: {} }))
    assert.is(claimedTwice(above, [build]), 'the key shared.size belongs to b')
    assert.is(claimedTwice(build, [above]), 'the key shared belongs to a')
  },
)

schema.run()
