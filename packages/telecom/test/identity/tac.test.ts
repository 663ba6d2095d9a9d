import { assert, suite } from '@steeple/testkit'
import { isTac, tacMax } from '../../src/identity/imsi.ts'

const tac = suite('telecom/tac')

tac('has 16 bits in LTE and 24 in NR', () => {
  assert.is(tacMax('lte'), 65_535)
  assert.is(tacMax('nr'), 16_777_215)
})

tac('takes both ends of its range and nothing beyond or between', () => {
  for (const technology of ['lte', 'nr'] as const) {
    const max = tacMax(technology)
    assert.ok([0, 1, max].every((value) => isTac(technology, value)))
    assert.not([-1, 0.5, max + 1, Number.NaN].some((value) => isTac(technology, value)))
  }
})

tac.run()
