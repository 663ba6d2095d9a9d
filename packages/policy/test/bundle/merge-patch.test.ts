import { assert, suite } from '@steeple/testkit'
import * as fc from 'fast-check'
import { mergePatch } from '../../src/bundle/change-bundle.ts'

const merge = suite('policy/merge-patch')

/** RFC 7396 appendix A: original, patch, result. */
const VECTORS: readonly (readonly [unknown, unknown, unknown])[] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

merge('gives every result of RFC 7396 appendix A', () => {
  for (const [target, patch, result] of VECTORS) assert.equal(mergePatch(target, patch), result)
})

merge('changes neither the target nor the patch', () => {
  for (const [target, patch] of VECTORS) {
    const before = JSON.stringify([target, patch])
    mergePatch(target, patch)
    assert.is(JSON.stringify([target, patch]), before)
  }
})

merge('is idempotent and keeps what an empty patch leaves', async () => {
  await fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.jsonValue(), (target, patch) => {
      const once = mergePatch(target, patch)
      assert.equal(mergePatch(once, patch), once)
      assert.equal(JSON.stringify(mergePatch(target, {})), JSON.stringify(target))
    }),
  )
})

merge('takes a member named __proto__ for a member', () => {
  const merged = mergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}'))
  assert.is(Object.getPrototypeOf(merged), Object.prototype)
  assert.is(JSON.stringify(merged), '{"__proto__":{"polluted":true}}')
})

merge.run()
