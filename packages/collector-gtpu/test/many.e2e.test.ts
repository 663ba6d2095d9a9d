import { assert, suite } from '@steeple/testkit'
import type { TapSnapshot } from '../src/upf-tap.ts'
import { mixed, truthOf } from './support/frames.ts'
import { NEVER, octetsOf, openNft, send } from './support/taps.ts'
import { enterVethNetwork } from './support/veth.ts'

enterVethNetwork(import.meta.filename)

const many = suite('collector-gtpu/many')
const PHONES = 10_000
/** Each has packets both ways, of all sizes and headers. */
const PACKETS = mixed(6 * PHONES, PHONES)
const MOST_ROUNDS = 20

many(
  `counts each octet of ${PHONES} phones by rules, and says each first packet that the kernel had no room for`,
  async () => {
    const tap = await openNft()
    try {
      let before: TapSnapshot
      let lost = -1
      let sent = 0
      do {
        send(PACKETS)
        sent += PACKETS.length
        const lostBefore = lost
        before = await tap.snapshot(undefined, NEVER)
        lost = before.lost
        assert.is(tap.stats().received + lost, sent)
        // Once all are known nothing is lost any more.
        if (lost === lostBefore) break
      } while (sent < MOST_ROUNDS * PACKETS.length)
      assert.is(before.counters.length, PHONES)
      send(PACKETS)
      const after = await tap.snapshot(undefined, NEVER)
      assert.is(after.lost, lost)
      assert.equal(growth(before, after), Object.fromEntries(truthOf(PACKETS)))
    } finally {
      await tap.close(false)
    }
  },
  { limitMs: 600_000 },
)

function growth(before: TapSnapshot, after: TapSnapshot): object {
  const known = octetsOf(before)
  const grown = [...octetsOf(after)].map(([address, [up, down]]) => {
    const [upBefore, downBefore] = known.get(address) ?? [0, 0]
    return [address, [up - upBefore, down - downBefore]]
  })
  return Object.fromEntries(grown)
}

many.run()
