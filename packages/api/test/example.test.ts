import { objectSchema, ok, route } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { groupOf, tagsOf } from '../src/openapi/groups.ts'
import { exampleOf } from '../src/openapi/operation.ts'

const example = suite('api/example')

example('gives what a request needs and all that an answer has', () => {
  const schema = objectSchema(
    {
      name: { type: 'string', minLength: 3, maxLength: 9 },
      at: { type: 'string', pattern: '^\\d{4}-\\d\\d-\\d\\dT' },
      kind: { enum: ['a', 'b'] },
      count: { type: 'integer', minimum: 3, maximum: 9 },
      none: { type: ['string', 'null'] },
      list: { type: 'array', items: { type: 'string', pattern: '^[0-9a-f]{12}$' } },
    },
    ['name', 'count'],
  )
  assert.equal(exampleOf(schema, false), { name: 'example', count: 3 })
  assert.equal(exampleOf(schema, true), {
    name: 'example',
    at: '2026-11-21T08:00:00.000Z',
    kind: 'a',
    count: 3,
    none: 'example',
    list: ['0a1b2c3d4e5f'],
  })
})

example('prefers what the schema says, and has none where nothing fits', () => {
  assert.is(exampleOf({ type: 'string', examples: ['b3'] }, false), 'b3')
  assert.is(exampleOf({ anyOf: [{ type: 'null' }, { const: 'x' }] }, true), 'x')
  assert.is(exampleOf({ type: 'string', pattern: '^~{200}$' }, false), undefined)
  const impossible = objectSchema({ odd: { type: 'string', pattern: '^~{200}$' } }, ['odd'])
  assert.is(exampleOf(impossible, false), undefined)
})

example('groups routes as they say, else as their plugin says of the longest prefix, by rank', () => {
  const paths = {
    '/v1/sims': { group: 'SIMs and cards', about: 'Cards.', rank: 200 },
    '/v1/sims/lost': { group: 'Lost', rank: 100 },
  }
  const at = (path: `/${string}`, more: { readonly group?: string } = {}) => ({
    paths,
    route: route({ method: 'GET', path, role: 'viewer', summary: 's', ...more, handle: async () => ok({}) }),
  })
  const zoo = at('/v1/sims', { group: 'Zoo' })
  assert.is(groupOf(at('/v1/sims/:imsi/revoke')).group, 'SIMs and cards')
  assert.is(groupOf(at('/v1/sims/lost/all')).group, 'Lost')
  assert.is(groupOf(at('/v1/simsalabim')).group, 'More')
  assert.is(groupOf(zoo).group, 'Zoo')
  assert.equal(tagsOf([zoo, at('/v1/sims/:imsi'), at('/v1/other'), at('/v1/sims/lost')]), [
    { name: 'Lost' },
    { name: 'SIMs and cards', description: 'Cards.' },
    { name: 'More' },
    { name: 'Zoo' },
  ])
})

example.run()
