import { networkScope } from '@steeple/contracts'
import { assert, characterAt, LAST_CHARACTER, placeOfCharacter, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { listenAddressFrom } from '../src/host/listeners.ts'
import { createCursors } from '../src/pipeline/cursor.ts'
import { parseJson } from '../src/pipeline/read-body.ts'
import { createSchemaChecks } from '../src/pipeline/schema-checks.ts'

const units = suite('api/units')

units('reads every JSON value as JSON.parse does', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value)
      let read: unknown
      try {
        read = parseJson(Buffer.from(text))
      } catch {
        assert.match(text, /__proto__|prototype/)
        return
      }
      assert.equal(read, JSON.parse(text))
    }),
    { numRuns: 300 },
  )
})

units('refuses text that is not JSON with malformed_json, and never quotes it', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.nat(LAST_CHARACTER).map(characterAt, placeOfCharacter), maxLength: 40 }),
      (text) => {
        try {
          parseJson(Buffer.from(text))
        } catch (error) {
          assert.is((error as { code?: string }).code, 'malformed_json')
          if (text.length > 12) assert.not.ok(String(error).includes(text))
        }
      },
    ),
    { numRuns: 300 },
  )
})

units('stands a body that nests deeper than the call stack', () => {
  const deep = Buffer.from(`{"a":"__proto__x","b":${'['.repeat(5_000)}${']'.repeat(5_000)}}`)
  assert.ok(parseJson(deep))
})

units('opens a cursor exactly where it was sealed', () => {
  const cursors = createCursors(Buffer.alloc(32, 1))
  const others = createCursors(Buffer.alloc(32, 2))
  const position = fc.array(fc.oneof(fc.string(), fc.integer()), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(position, fc.string(), fc.string(), (at, scope, otherScope) => {
      const cursor = cursors.seal(scope, at)
      assert.match(cursor, /^[A-Za-z0-9_-]+$/)
      if (cursor.length > 1_024) return
      assert.equal(cursors.open(scope, cursor), at)
      if (scope !== otherScope) assert.throws(() => cursors.open(otherScope, cursor))
      assert.throws(() => others.open(scope, cursor))
    }),
  )
  fc.assert(
    fc.property(fc.string(), (garbage) => {
      assert.throws(() => cursors.open('', garbage))
    }),
  )
})

units('knows addresses of both families, and IPv4 behind a dual-stack socket', () => {
  const scope = networkScope(['127.0.0.0/8', '10.0.0.7', '::1', 'fd00::/8'])
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '10.0.0.7', '::1', 'fd12::1']) {
    assert.ok(scope.has(address), address)
  }
  for (const address of ['128.0.0.1', '10.0.0.8', '::2', 'fe80::1', '', 'nonsense']) {
    assert.not(scope.has(address), address)
  }
})

units('reads listen addresses and refuses others', () => {
  assert.equal(listenAddressFrom(':8080'), { host: '0.0.0.0', port: 8_080 })
  assert.equal(listenAddressFrom('127.0.0.1:0'), { host: '127.0.0.1', port: 0 })
  assert.equal(listenAddressFrom('[::1]:9'), { host: '::1', port: 9 })
  assert.equal(listenAddressFrom('box.local:80'), { host: 'box.local', port: 80 })
  for (const text of ['8080', '', 'a:b', ':70000', '::1:80', 'http://x:80']) {
    assert.throws(() => listenAddressFrom(text), /server\.listen/)
  }
})

units('compiles a schema once, and holds none alive', () => {
  const checks = createSchemaChecks()
  const schema = { type: 'object', properties: { a: { type: 'integer' } } }
  assert.ok(checks.isNew('body', schema))
  assert.is(checks.check('body', schema), checks.check('body', schema))
  assert.not(checks.isNew('body', schema))
  assert.is(checks.check('body', schema)({ a: 1 }, true), undefined)
  assert.equal(checks.check('body', schema)({ b: 1 }, true), [
    { pointer: '/b', message: 'unknown property b', rule: 'additionalProperties' },
  ])
})

units('holds a number in a query to its bounds, however large its text is', () => {
  const months = { type: 'integer', minimum: 1, maximum: 60 }
  const check = createSchemaChecks().check('url', { type: 'object', properties: { months } })
  assert.is(check({ months: '60' }, true), undefined)
  for (const text of ['61', '1e999', '-1e999']) {
    const [first] = check({ months: text }, true) ?? []
    assert.is(first?.pointer, '/months', text)
    assert.is.not(check({ months: text }, false), undefined, text)
  }
})

units.run()
