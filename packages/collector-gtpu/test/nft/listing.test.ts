import { assert, suite } from '@steeple/testkit'
import { countersOf, listingReader, receivedOf } from '../../src/nft/listing.ts'

const listing = suite('collector-gtpu/listing')

/** What is read of a generation from what `nft list table` prints of a tap's table that has these sets of it. */
function read(sets: Readonly<Record<string, readonly string[]>>) {
  const reader = listingReader()
  reader.line('table netdev tap {')
  reader.line('\tcomment "0011223344556677"')
  for (const [name, lines] of Object.entries(sets)) {
    reader.line(`\tset ${name} {`)
    reader.line('\t\ttype ipv4_addr')
    for (const text of lines) reader.line(`\t\t${text}`)
    reader.line('\t}')
  }
  reader.line('}')
  const generation = reader.end().generations.get(1)
  assert.ok(generation !== undefined)
  const counters = [...countersOf(generation)]
  return { counters, received: receivedOf(generation), largest: generation.largest }
}

const one = (address: string, packets: number, bytes: number): string =>
  `${address} counter packets ${packets} bytes ${bytes}`

listing('sums what sets for packets with other headers have counted of an address', () => {
  const { counters, received, largest } = read({
    g1_up4_36: [`elements = { ${one('10.45.0.2', 2, 272)}, ${one('10.45.0.3', 1, 136)} }`],
    g1_up4_40: [`elements = { ${one('10.45.0.2', 1, 140)} }`],
    g1_down4_36: [`elements = { ${one('10.45.0.2', 3, 408)} }`],
  })
  assert.equal(counters, [
    { address: '10.45.0.2', upBytes: 300, downBytes: 300 },
    { address: '10.45.0.3', upBytes: 100, downBytes: 0 },
  ])
  assert.equal([received, largest], [7, 2])
})

listing('counts by its sender what the UPF has handed on, and not what the kernel has', () => {
  const { counters, received } = read({
    g1_up4_0: [`elements = { ${one('10.45.0.2', 1, 100)} }`],
    g1_down4_36: [`elements = { ${one('10.45.0.3', 5, 680)} }`],
    g1_peer4_36: [`elements = { ${one('10.45.0.2', 3, 408)}, ${one('10.45.0.1', 2, 272)} }`],
    g1_back4_0: [`elements = { ${one('10.45.0.2', 1, 100)}, ${one('10.45.0.1', 2, 200)} }`],
  })
  assert.equal(counters, [
    { address: '10.45.0.2', upBytes: 300, downBytes: 0 },
    { address: '10.45.0.3', upBytes: 0, downBytes: 500 },
  ])
  assert.is(received, 8)
})

listing('counts an element once that the kernel lists twice while its set grows', () => {
  const { counters, received, largest } = read({
    g1_up4_36: [
      `elements = { ${one('10.45.0.2', 1, 136)}, ${one('10.45.0.3', 5, 680)},`,
      // Between the two another packet came; of the other one the older reading comes last.
      `     ${one('10.45.0.2', 2, 272)}, ${one('10.45.0.3', 4, 544)} }`,
    ],
  })
  assert.equal(counters, [
    { address: '10.45.0.2', upBytes: 200, downBytes: 0 },
    { address: '10.45.0.3', upBytes: 500, downBytes: 0 },
  ])
  assert.equal([received, largest], [7, 2])
})

listing('knows prefixes by their two halves, and as a version before has written them', () => {
  const { counters } = read({
    g1_up6_36: [`elements = { ${one('0x20010db8 . 0x450001', 1, 136)} }`],
    g1_down6_36: [`elements = { ${one('2001:db8:45:1::', 2, 272)} }`],
  })
  assert.equal(counters, [{ address: '2001:db8:45:1::/64', upBytes: 100, downBytes: 200 }])
})

listing('takes packets that found no counter from the length that each of them had', () => {
  const late = (key: string, used: string): string => `${key} quota 9000000000 mbytes used ${used}`
  const { counters, received, largest } = read({
    g1_up4_36: [`elements = { ${one('10.45.0.2', 2, 272)} }`],
    g1_up4_late: [
      `elements = { ${late('0xa2d0002 . 136 . 0x00000024', '408 bytes')},`,
      // What 1,024 divides is written in the next unit.
      `     ${late('0xa2d0002 . 128 . 0x00000024', '1 kbytes')} }`,
    ],
    g1_down6_late: [`elements = { ${late('0x20010db8 . 0x450001 . 1300 . 0x0000002c', '1300 bytes')} }`],
  })
  assert.equal(counters, [
    { address: '10.45.0.2', upBytes: 200 + 300 + 8 * 92, downBytes: 0 },
    { address: '2001:db8:45:1::/64', upBytes: 0, downBytes: 1_256 },
  ])
  assert.equal([received, largest], [2 + 3 + 8 + 1, 2])
})

listing.run()
