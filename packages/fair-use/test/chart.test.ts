import { assert, suite } from '@steeple/testkit'
import { chart } from '../src/commands.ts'

const charts = suite('fair-use/chart')

charts('fits the width, and shows anything above nothing', () => {
  const lines = [
    { title: 'a', amount: 0, note: '0 B' },
    { title: 'bb', amount: 1, note: '1 B' },
    { title: 'c', amount: 10_000, note: '10.0 kB' },
    { title: 'd', amount: 5_000, note: '5.0 kB' },
  ]
  for (const width of [24, 40, 72, 200]) {
    const drawn = chart(lines, width).trimEnd().split('\n')
    const [none = '', little = '', most = '', half = ''] = drawn
    for (const line of drawn) assert.ok(line.length <= width && line === line.trimEnd(), line)
    const cells = (line: string): number => line.split('█').length - 1
    assert.equal([cells(none), cells(little)], [0, 0])
    assert.match(little, '▏')
    assert.is(Math.floor(cells(most) / 2), cells(half))
    assert.match(most, /10\.0 kB$/)
  }
  assert.is(chart([], 80), '')
  assert.match(chart([{ title: 'a', amount: 0, note: '0 B' }], 80), /^a +0 B$/m)
})

charts.run()
