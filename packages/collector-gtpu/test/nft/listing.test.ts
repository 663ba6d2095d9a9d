import { assert, suite } from '@steeple/testkit'
import { countersOf, listingReader } from '../../src/nft/listing.ts'

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
  const { received, largest } = generation
  return { counters: countersOf(generation), received, largest }
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

listing.run()
