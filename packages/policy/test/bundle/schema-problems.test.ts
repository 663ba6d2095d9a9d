import { objectSchema } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { schemaProblems } from '../../src/bundle/schema-problems.ts'

const problems = suite('policy/schema-problems')
const pointers = (schema: object, value: unknown): readonly string[] =>
  schemaProblems({ ...schema }, value).map(({ pointer }) => pointer)

problems('finds nothing in a value that follows its schema', () => {
  const schema = objectSchema({ a: { type: 'array', items: { type: 'integer', minimum: 1 } } }, ['a'])
  assert.equal(schemaProblems(schema, { a: [1, 2, 3] }), [])
})

problems('points at unknown, missing and wrong members, with escapes', () => {
  const schema = objectSchema({ a: { type: 'string' }, b: { type: 'integer' } }, ['a', 'b'])
  assert.equal(pointers(schema, { b: 1.5, 'x/y~z': 1 }), ['/a', '/b', '/x~1y~0z'])
  assert.equal(pointers(schema, []), [''])
  assert.equal(pointers(schema, null), [''])
})

problems('takes no inherited name for a known member', () => {
  assert.equal(pointers(objectSchema({}), JSON.parse('{"constructor": 1, "__proto__": 2}')), [
    '/constructor',
    '/__proto__',
  ])
})

problems('checks bounds, counts, lengths, patterns, enumerations and repetition', () => {
  const cases: readonly (readonly [object, unknown, boolean])[] = [
    [{ type: 'integer', minimum: 0, maximum: 5 }, 5, true],
    [{ type: 'integer', minimum: 0, maximum: 5 }, 6, false],
    [{ type: 'integer', minimum: 0, maximum: 5 }, -1, false],
    [{ type: 'integer' }, 2 ** 53, false],
    [{ type: 'number' }, Number.NaN, false],
    [{ type: ['string', 'null'] }, null, true],
    [{ type: 'string', maxLength: 2 }, '😀😀', true],
    [{ type: 'string', minLength: 1 }, '', false],
    [{ type: 'string', pattern: '^[a-z]+$' }, 'abc', true],
    [{ type: 'string', pattern: '^[a-z]+$' }, 'ABC', false],
    [{ type: 'string', enum: ['lte', 'nr'] }, 'gsm', false],
    [{ type: 'array', minItems: 1 }, [], false],
    [{ type: 'array', maxItems: 1 }, [1, 2], false],
    [{ type: 'array', uniqueItems: true }, ['a', 'a'], false],
    [{ type: 'boolean' }, 'true', false],
  ]
  for (const [schema, value, isValid] of cases) {
    assert.is(pointers(schema, value).length === 0, isValid, JSON.stringify([schema, value]))
  }
})

problems.run()
