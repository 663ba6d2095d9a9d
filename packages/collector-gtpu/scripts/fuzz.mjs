// Reads mutated frames and captures: node scripts/fuzz.mjs [inputs] [seed].
// Fails on any throw that is not the parser's own, a count beyond what a packet can hold, an input that takes long, or memory
// that grows. Nine of ten inputs are frames, the others captures of four packets in both formats.
import { seededDraw } from '@steeple/testkit'
import { CaptureError, captureReader } from '../src/capture/capture-reader.ts'
import { findIpOf, packetCount } from '../src/child/count-packets.ts'
import { createTally } from '../src/counters/tally.ts'
import { coreEnds } from '../src/packet/address.ts'
import { emptyFrame, readIp, VERDICT } from '../src/packet/g-pdu.ts'
import { CORE, CORE_6, frame, mixed, outer, pcapngDrops, pcapngOf, pcapOf } from '../test/support/frames.ts'

const MOST_OCTETS = 65_535
const LONGEST_MS = 1_000
const MOST_RSS = 512 * 1024 * 1024
const inputs = Number(process.argv[2] ?? 1e5)
// The same inputs for the same seed.
const draw = seededDraw(Number(process.argv[3] ?? 1))

const ends = coreEnds([CORE, CORE_6])
const small = mixed(90).map((one, i) => ({
  ...one,
  octets: 60 + (i % 7),
  isOuterIpv6: i % 4 === 3,
  vlans: [[], [7], [7, 9]][i % 3],
  header: [8, 12, 16, 20, 24, 32, 64][i % 7],
}))
const FRAMES = small.map(frame)
const PACKETS = small.map(outer)
const CAPTURES = [
  pcapOf(FRAMES.slice(0, 4)),
  Buffer.concat([pcapngOf(FRAMES.slice(0, 4)), pcapngDrops(3), pcapngOf(FRAMES.slice(4, 6))]),
]
const EDGES = [0, 1, 2, 4, 0x2b, 0x2c, 0x3c, 0x30, 0x34, 0x45, 0x60, 0x7f, 0x80, 0x81, 0x88, 0xff]
const LINKS = [0, 1, 12, 101, 108, 113, 228, 276, 9_999]

function mutated(bytes) {
  let copy = Buffer.from(bytes)
  for (let count = draw(5) + 1; count > 0; count -= 1) {
    const how = draw(5)
    const at = draw(copy.length)
    if (how < 2) copy[at] = draw(256)
    else if (how === 2) copy[at] = EDGES[draw(EDGES.length)]
    else if (how === 3) copy = copy.subarray(0, at + 1)
    else copy = Buffer.concat([copy.subarray(0, at), copy.subarray(draw(at + 1))])
  }
  return copy
}

const found = emptyFrame()
const verdicts = new Map()
const tally = createTally()
const count = packetCount(ends, tally)
let refused = 0
let read = 0
const begun = performance.now()
let look = begun
let rss = 0

for (let i = 0; i < inputs; i += 1) {
  if (i % 10 === 9) {
    const bytes = mutated(CAPTURES[draw(CAPTURES.length)])
    const reader = captureReader({
      packet: (link, atMs, octets, from, end) => {
        read += 1
        count.packet(link, atMs, octets, from, end)
      },
      dropped: () => undefined,
    })
    try {
      for (let at = 0; at < bytes.length; at += 97) reader.push(bytes.subarray(at, at + 97))
    } catch (error) {
      if (!(error instanceof CaptureError)) throw error
      refused += 1
    }
  } else {
    const isRaw = draw(4) === 0
    const bytes = mutated(isRaw ? PACKETS[draw(PACKETS.length)] : FRAMES[draw(FRAMES.length)])
    const link = isRaw ? 101 : draw(8) === 0 ? LINKS[draw(LINKS.length)] : 1
    const ip = findIpOf(link)?.(bytes, 0, bytes.length) ?? -1
    const verdict = ip < 0 ? VERDICT.ignored : readIp(bytes, ip, bytes.length, ends, found)
    verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1)
    if (verdict === VERDICT.counted && !(found.octets >= 20 && found.octets <= MOST_OCTETS))
      throw new Error(`input ${i}: ${found.octets} octets`)
  }
  if (i % 10_000 !== 0) continue
  const now = performance.now()
  rss = Math.max(rss, process.memoryUsage.rss())
  if (rss > MOST_RSS) throw new Error(`${rss} octets of memory after ${i} inputs`)
  if ((now - look) / 10_000 > LONGEST_MS) throw new Error(`${now - look} ms for the last 10,000 inputs`)
  look = now
}

const names = Object.entries(VERDICT).map(([name, value]) => `${name} ${verdicts.get(value) ?? 0}`)
process.stdout.write(
  `${inputs} inputs in ${Math.round((performance.now() - begun) / 1000)} s: ${names.join(', ')}; captures refused ${refused}, ` +
    `their packets read ${read}; ${tally.size} addresses, at most ${Math.round(rss / 1024 / 1024)} MiB\n`,
)
