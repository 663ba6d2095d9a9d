import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { freeOctets } from '../src/free-octets.ts'

const freed = suite('contracts/free-octets')

freed('gives all of a memory back', () => {
  const octets = Buffer.allocUnsafeSlow(1_048_576)
  const before = process.memoryUsage().arrayBuffers
  freeOctets(octets)
  assert.is(octets.length, 0)
  assert.ok(process.memoryUsage().arrayBuffers <= before - 1_000_000)
})

freed('leaves alone what others may have a part of', () => {
  const octets = Buffer.alloc(100_000, 7)
  freeOctets(octets.subarray(10))
  freeOctets(Buffer.from('of the pool'))
  assert.is(octets[99_999], 7)
  assert.is(Buffer.from('of the pool').toString(), 'of the pool')
})

freed.run()
