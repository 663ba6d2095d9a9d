import { assert, suite } from '@steeple/testkit'
import { times } from './support/exactly.ts'
import { mixed, truthOf } from './support/frames.ts'
import { NEVER, octetsOf, openNft, send } from './support/taps.ts'
import { enterVethNetwork } from './support/veth.ts'

enterVethNetwork(import.meta.filename)

const many = suite('collector-gtpu/many')
const PHONES = 10_000
/** Each has packets both ways, of all sizes and headers. */
const PACKETS = mixed(6 * PHONES, PHONES)

many(`counts each octet of ${PHONES} phones that appear at once by rules`, async () => {
  await using tap = await openNft()
  send(PACKETS)
  const first = await tap.snapshot(undefined, NEVER)
  assert.is(first.lost, 0)
  assert.is(tap.stats().received, PACKETS.length)
  assert.equal(Object.fromEntries(octetsOf(first)), Object.fromEntries(truthOf(PACKETS)))
  send(PACKETS)
  const second = await tap.snapshot(undefined, NEVER)
  assert.is(second.lost, 0)
  assert.equal(Object.fromEntries(octetsOf(second)), times(truthOf(PACKETS), 2))
})

many.run()
