import { assert, suite } from '@steeple/testkit'
import { inGroups, safeText } from '../../src/identity/safe-text.ts'

const text = suite('telecom/safe-text')

text('leaves our own figures however large, and no IMSI', () => {
  assert.equal([0, 999, 1_000, 12_345_678_901_234].map(inGroups), ['0', '999', '1 000', '12 345 678 901 234'])
  const words = `${inGroups(12_345_678_901_234)} octets of 999707364000060`
  assert.is(safeText(words), '12 345 678 901 234 octets of …')
})

text.run()
