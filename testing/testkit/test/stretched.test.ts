import { assert, stretched, suite } from '../src/index.ts'

const bounds = suite('testkit/stretched')

bounds(
  'stretches a bound by how slow the seconds before were, however idle the machine is at the look',
  () => {
    assert.ok(stretched(1_000, 3) >= 6_000)
  },
)

bounds('never shortens a bound', () => {
  assert.ok(stretched(1_000, 0) >= 1_000)
  assert.ok(stretched(1_000) >= 1_000)
})

bounds.run()
