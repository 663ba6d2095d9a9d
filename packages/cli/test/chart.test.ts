import { assert, suite } from '@steeple/testkit'
import { chart } from '../src/output/chart.ts'
import { octets } from '../src/output/octets.ts'

const charts = suite('cli/chart')

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

charts('writes octets with a unit of which there is at least one', () => {
  const written = [0, 1, 999, 1_000, 999_949, 999_950, 1e9, 2 ** 53, -1_500].map(octets)
  assert.equal(written, [
    '0 B',
    '1 B',
    '999 B',
    '1.0 kB',
    '999.9 kB',
    '1.0 MB',
    '1.0 GB',
    '9.0 PB',
    '-1.5 kB',
  ])
  assert.is(octets(null), '-')
})

charts.run()
