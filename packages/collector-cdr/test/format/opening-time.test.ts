import { assert, suite } from '@steeple/testkit'
import { openedMsFrom } from '../../src/format/charging-record.ts'

const opening = suite('collector-cdr/opening time')

/** 2026-11-20 11:30:57, with the sign and the two last octets as free5GC's code makes them of an offset in seconds. */
function written(offsetS: number): Buffer {
  const nibbles = (value: number): number => ((Math.trunc(value / 10) << 4) | Math.trunc(value % 10)) & 0xff
  const [hours, rest] = [Math.trunc(offsetS / 3600), offsetS % 3600]
  const last = ((Math.trunc(rest / 10) << 4) | (rest % 10)) & 0xff
  return Buffer.from([0x26, 0x11, 0x20, 0x11, 0x30, 0x57, offsetS >= 0 ? 0x2b : 0x2d, nibbles(hours), last])
}

const LOCAL_MS = Date.UTC(2026, 10, 20, 11, 30, 57)

opening('reads local times of all zones as free5GC writes them, but those of 11 and 12 hours west', () => {
  const hours = [
    -10, -9.5, -9, -8, -7, -6, -5, -4, -3.5, -3, -2, -1, 0, 1, 2, 3, 3.5, 4, 5, 5.5, 5.75, 8, 9.5, 12, 13, 14,
  ]
  for (const hour of hours)
    assert.is(openedMsFrom(written(hour * 3600)), LOCAL_MS - hour * 3_600_000, `${hour} h`)
})

opening('knows no time in anything else', () => {
  const good = written(0)
  for (const [at, value] of [
    [0, 0xa0],
    [1, 0x13],
    [1, 0x00],
    [2, 0x32],
    [3, 0x24],
    [4, 0x60],
    [6, 0x20],
    [7, 0x15],
    [8, 0x07],
  ] as const) {
    const bad = Buffer.from(good)
    bad[at] = value
    assert.is(openedMsFrom(bad), undefined, `${at}: ${value}`)
  }
  assert.is(openedMsFrom(good.subarray(1)), undefined)
})

opening.run()
