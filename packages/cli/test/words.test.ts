import { assert, suite } from '@steeple/testkit'
import { assign, patchFromAssignments, valueAt } from '../src/commands/policy-patch.ts'
import { heldCapabilities } from '../src/doctor/check-capabilities.ts'
import { listenAddress } from '../src/doctor/check-port.ts'
import { flatten, table } from '../src/output/table.ts'

const words = suite('cli/words')

words('takes JSON as JSON and everything else as text', () => {
  assert.equal(patchFromAssignments(['a.b=1', 'a.c=true', 'd=null', 'e=x=y', 'f=', 'g="1"']), {
    a: { b: 1, c: true },
    d: null,
    e: 'x=y',
    f: '',
    g: '1',
  })
  for (const word of ['a', '=1', 'a..b=1', 'A=1', '__proto__=1', 'a.__proto__.b=1'])
    assert.throws(() => patchFromAssignments([word]), /no key\.path=value/)
})

words('lays one patch over another and finds values by path', () => {
  const merged = assign({ a: { b: 1, c: 2 }, d: [1] }, { a: { b: 3 }, d: [2] })
  assert.equal(merged, { a: { b: 3, c: 2 }, d: [2] })
  assert.is(valueAt(merged, 'a.b'), 3)
  assert.is(valueAt(merged, 'a.b.c'), undefined)
  assert.is(valueAt(merged, 'constructor'), undefined)
})

words('writes tables that line up and cannot move the cursor', () => {
  const rows = [
    { name: 'long name', n: 1 },
    { name: 'x\n\u001b[2J', n: undefined },
  ]
  const text = table(rows, [
    { title: 'NAME', value: (row) => row.name },
    { title: 'N', value: (row) => row.n },
  ])
  assert.is(text, 'NAME       N\nlong name  1\nx\uFFFD\uFFFD[2J     -\n')
  assert.equal(flatten({ a: { b: [], c: {} }, d: null }), [
    ['a.b', []],
    ['a.c', {}],
    ['d', null],
  ])
})

words('reads listen addresses and capability sets', () => {
  assert.equal(listenAddress(':8080'), { host: '', port: 8080 })
  assert.equal(listenAddress('[::1]:80'), { host: '::1', port: 80 })
  assert.is(heldCapabilities('Name:\tnode\nCapEff:\t0000000000003000\n'), 0x3000n)
  assert.is(heldCapabilities(''), undefined)
})

words.run()
