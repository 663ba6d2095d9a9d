import { assert, suite } from '@steeple/testkit'
import { sharedChecks } from '../src/start-testbed.ts'

const shared = suite('testbed/shared-checks')

/** As a plugin makes it at each start. */
const schema = (most = 5): { readonly type: string; readonly properties: object } => ({
  type: 'object',
  properties: { count: { type: 'integer', maximum: most } },
})

shared('compiles a schema once that says the same, from wherever the value comes', () => {
  const checks = sharedChecks()
  const check = checks.check('body', schema())
  assert.is(checks.isNew('body', schema()), false)
  assert.is(checks.check('body', schema()), check)
  assert.is(checks.isNew('url', schema()), true)
  const coerced = { count: '4' }
  assert.is(checks.check('url', schema())(coerced, true), undefined)
  assert.equal(coerced, { count: 4 })
  assert.is(check({ count: '4' }, true)?.length, 1)
})

shared('holds each value to the schema that was given with it', () => {
  const checks = sharedChecks()
  const [few, many] = [checks.check('body', schema(5)), checks.checkLater('body', schema(9))]
  assert.is(few({ count: 7 }, true)?.length, 1)
  assert.is(many({ count: 7 }, true), undefined)
  checks.prove('body', schema(11))
  assert.equal(
    [9, 11, 13].map((most) => checks.isNew('body', schema(most))),
    [false, false, true],
  )
})

shared.run()
