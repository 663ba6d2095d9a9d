import { assert, rounds, suite } from '@steeple/testkit'
import { flipBits } from './support/bit-flips.ts'

const flipped = suite('esim-smdp/bit-flips')

flipped('refuses a flipped bit of whatever is signed, with its code, and changes nothing by it', async () => {
  for (let round = 0; round < rounds(1); round += 1) {
    // Another bit of each octet now and then; `scripts/bit-flips.mjs` takes them all.
    const { flips } = await flipBits(13, Math.floor(Math.random() * 13))
    assert.ok(flips > 1_500, String(flips))
  }
})

flipped.run()
