import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assert, eventually, suite, tempDir } from '@steeple/testkit'
import { runDbctl } from '../../src/dbctl/commands.ts'
import { FAST, RECORDED, startLab } from '../support/lab.ts'

const capture = suite('lab-core/capture')
const { imsi, ki, opc } = RECORDED

/** The records of a capture: time, length on the wire, what is kept. https://www.ietf.org/archive/id/draft-gharris-opsawg-pcap-01.html */
function recordsOf(bytes: Buffer): readonly { atS: number; length: number; kept: Buffer }[] {
  assert.is(bytes.readUInt32LE(0), 0xa1b2c3d4)
  assert.is(bytes.readUInt32LE(20), 101)
  const records = []
  for (let at = 24; at < bytes.length; ) {
    const kept = bytes.readUInt32LE(at + 8)
    records.push({
      atS: bytes.readUInt32LE(at),
      length: bytes.readUInt32LE(at + 12),
      kept: bytes.subarray(at + 16, at + 16 + kept),
    })
    at += 16 + kept
  }
  return records
}

capture('holds every frame as it went over the tunnel, and is begun anew by the next lab core', async () => {
  await using dir = await tempDir()
  const file = join(dir.path, 'gtpu.pcap')
  const read = (): ReturnType<typeof recordsOf> => recordsOf(readFileSync(file))
  {
    await using lab = await startLab({ capture: file })
    const draw = (): string => '6b00336d94c05ec68f531651'
    await runDbctl(['add', imsi, ki, opc], { subscribers: lab.subscribers, draw })
    const [named] = await lab.fleet.insert([RECORDED])
    if (named === undefined) throw new Error('no phone')
    named.phone.powerOn()
    await eventually(() => named.phone.isAttached)
    await lab.traffic.move(named, { up: 3_000, down: 50 }, FAST)
    // Without waiting for its end: a reader sees at once what was moved.
    await eventually(() => assert.is(read().length, lab.path.counts.sent))
    const { radio, core } = lab.path.addresses
    let [up, down] = [0, 0]
    for (const { length, kept, atS } of read()) {
      assert.ok(Math.abs(atS - Date.now() / 1000) < 600)
      assert.is(kept.length, Math.min(128, length))
      assert.is(kept.readUInt16BE(2), length, 'length of the outer packet')
      assert.is(kept.readUInt16BE(24), length - 20, 'length of the datagram')
      const isUp = kept.readUInt16BE(20) === radio.port
      assert.is(kept.readUInt16BE(22), isUp ? core.port : radio.port)
      assert.is(kept[29], 0xff)
      const inner = kept.subarray(36)
      const octets = (inner[0] ?? 0) >> 4 === 4 ? inner.readUInt16BE(2) : 40 + inner.readUInt16BE(4)
      assert.is(octets, length - 36)
      if (isUp) up += octets
      else down += octets
    }
    assert.equal([up, down], [3_000, 50])
  }
  await using again = await startLab({ capture: file })
  assert.equal([read(), again.path.counts.sent], [[], 0])
})

capture.run()
