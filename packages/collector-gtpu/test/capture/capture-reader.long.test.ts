import { safeText } from '@steeple/telecom'
import { assert, rounds, suite } from '@steeple/testkit'
import fc from 'fast-check'
import { CaptureError, captureReader } from '../../src/capture/capture-reader.ts'
import { frame, mixed, pcapngOf, pcapOf } from '../support/frames.ts'

const capture = suite('collector-gtpu/capture')
const AT_MS = 1_700_000_000_000
const FRAMES = mixed(60).map(frame)
const FORMATS = [
  ['pcap', pcapOf(FRAMES, AT_MS)],
  ['pcapng', pcapngOf(FRAMES, AT_MS)],
] as const

interface Heard {
  readonly packets: { readonly link: number; readonly atMs: number; readonly octets: string }[]
  dropped: number
}

function read(pieces: Iterable<Uint8Array>): Heard {
  const heard: Heard = { packets: [], dropped: 0 }
  const reader = captureReader({
    packet: (link, atMs, octets, from, end) =>
      heard.packets.push({ link, atMs, octets: Buffer.from(octets.subarray(from, end)).toString('hex') }),
    dropped: (packets) => {
      heard.dropped = packets
    },
  })
  for (const piece of pieces) reader.push(piece)
  return heard
}

const TRUTH = FRAMES.map((octets, i) => ({ link: 1, atMs: AT_MS + i, octets: octets.toString('hex') }))

for (const [name, bytes] of FORMATS) {
  capture(
    `reads every packet of ${name}, in pieces of any size, out of a buffer that is filled again`,
    () => {
      fc.assert(
        fc.property(
          fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1, maxLength: 40 }),
          (sizes) => {
            const heard = read(pieces(bytes, sizes))
            assert.equal(heard.packets, TRUTH)
          },
        ),
        { numRuns: rounds(10) },
      )
    },
  )

  capture(`waits for the rest of a torn ${name}`, () => {
    for (const end of [0, 3, 20, 30, 200, bytes.length - 1]) {
      const heard = read([bytes.subarray(0, end)])
      assert.equal(heard.packets, TRUTH.slice(0, heard.packets.length))
      assert.ok(heard.packets.length < TRUTH.length)
    }
  })

  capture(`throws nothing but its own error for a damaged ${name}, and keeps little`, () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(bytes.length - 1), fc.nat(255)), { maxLength: 6 }),
        fc.integer({ min: 1, max: 4_000 }),
        (changes, size) => {
          const damaged = Buffer.from(bytes)
          for (const [at, value] of changes) damaged[at] = value
          const reader = captureReader({ packet: () => undefined, dropped: () => undefined })
          try {
            for (const piece of pieces(damaged, [size])) reader.push(piece)
          } catch (error) {
            assert.instance(error, CaptureError)
          }
          assert.ok(reader.waiting <= damaged.length)
        },
      ),
      { numRuns: rounds(100) },
    )
  })
}

capture('reads the other order of octets and nanoseconds', () => {
  const swapped = Buffer.alloc(24 + 16 + 4)
  swapped.writeUInt32BE(0xa1b23c4d, 0)
  swapped.writeUInt32BE(101, 20)
  swapped.writeUInt32BE(1_700_000_000, 24)
  swapped.writeUInt32BE(5_000_000, 28)
  swapped.writeUInt32BE(4, 32)
  swapped.writeUInt32BE(4, 36)
  assert.equal(read([swapped]).packets, [{ link: 101, atMs: AT_MS + 5, octets: '00000000' }])
})

capture('hears how many packets whoever captured has lost', () => {
  const statistics = Buffer.from(
    '0500000030000000000000000000000000000000050008000300000000000000070008000400000000000000' + '30000000',
    'hex',
  )
  const whole = Buffer.concat([pcapngOf(FRAMES.slice(0, 1)), statistics, statistics])
  assert.is(read([whole]).dropped, 7)
})

capture('says that what begins otherwise is no capture, and says it again', () => {
  const reader = captureReader({ packet: () => undefined, dropped: () => undefined })
  for (const _ of [1, 2])
    assert.throws(() => reader.push(Buffer.from('not a capture')), /begins neither as pcap nor as pcapng/)
})

/** Each piece in the same buffer, as whoever reads a file gives them. */
function* pieces(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  const buffer = Buffer.alloc(Math.max(...sizes))
  let at = 0
  for (let i = 0; at < bytes.length; i += 1) {
    const size = Math.min(sizes[i % sizes.length] ?? 1, bytes.length - at)
    buffer.set(bytes.subarray(at, at + size))
    yield buffer.subarray(0, size)
    at += size
  }
}

capture('says where a large capture is damaged in figures that are not taken for an IMSI', () => {
  const error = new CaptureError(12_345_678_901_234, 'a block of 1 octets')
  assert.is(safeText(error), 'the capture is damaged at octet 12 345 678 901 234: a block of 1 octets')
})

capture.run()
