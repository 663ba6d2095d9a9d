import { randomBytes } from 'node:crypto'
import { assert, bitsOf, rounds, seededDraw, suite, testSeed } from '@steeple/testkit'
import { archiveOf, PASSPHRASE, readBack, smallState, stateOf } from './support/state.ts'

const test = suite('a damaged backup', { limitMs: 1_200_000 })
/** Octets of the header of an encrypted backup, and around the content of each of its frames. */
const HEADER_BYTES = 48
/** Seven frames, which come in several pieces. */
const LARGE_BYTES = 400_000
const LARGE_PIECE_BYTES = 131_072
const FRAMED_BYTES = 2_000_000
const FRAME_BYTES = 5 + 65_536 + 16

function flip(archive: Buffer, bit: number): void {
  const octet = bit >> 3
  archive.writeUInt8(archive.readUInt8(octet) ^ (1 << (bit & 7)), octet)
}

function flipped(archive: Buffer, bit: number): Buffer {
  const copy = Buffer.from(archive)
  flip(copy, bit)
  return copy
}

for (const passphrase of [undefined, PASSPHRASE]) {
  const kind = passphrase === undefined ? 'plain' : 'encrypted'

  test(`none of the octets of a small ${kind} one can change`, async () => {
    const state = await smallState()
    const archive = await archiveOf(state, passphrase)
    assert.type(await readBack(archive, passphrase), 'object')
    for (const bit of bitsOf(archive.length)) {
      const outcome = await readBack(flipped(archive, bit), passphrase)
      assert.match(String(outcome), /^backup_(invalid|decrypt_failed|version_unsupported)$/, `bit ${bit}`)
    }
    await state.release()
  })

  test(`a small ${kind} one is whole or nothing, wherever it ends`, async () => {
    const state = await smallState()
    const archive = await archiveOf(state, passphrase)
    for (let length = 0; length < archive.length; length++) {
      const outcome = await readBack(archive.subarray(0, length), passphrase)
      assert.match(String(outcome), /^backup_(invalid|decrypt_failed)$/, `${length} octets`)
    }
    const longer = Buffer.concat([archive, Buffer.alloc(1)])
    assert.match(String(await readBack(longer, passphrase)), /^backup_(invalid|decrypt_failed)$/)
    await state.release()
  })
}

for (const [kind, passphrase, count] of [
  // Each is read to its end before it is refused.
  ['plain', undefined, rounds(200)],
  ['encrypted', PASSPHRASE, rounds(1_000)],
] as const)
  test(`none of ${count} bits of a large ${kind} one can change`, async () => {
    const state = await stateOf({ 'store.db': randomBytes(LARGE_BYTES), 'keys/vault.key': randomBytes(32) })
    const archive = await archiveOf(state, passphrase)
    assert.type(await readBack(archive, passphrase, LARGE_PIECE_BYTES), 'object')
    const draw = seededDraw(testSeed())
    for (let round = 0; round < count; round++) {
      const bit = draw(archive.length * 8)
      // In place, and back again: a copy of it all takes longer than to see what is wrong.
      flip(archive, bit)
      assert.type(await readBack(archive, passphrase, LARGE_PIECE_BYTES), 'string', `bit ${bit}`)
      flip(archive, bit)
    }
    assert.type(await readBack(archive, passphrase, LARGE_PIECE_BYTES), 'object')
    await state.release()
  })

test('a large encrypted one is refused when it ends with any of its frames, or lacks one, or has them in another order', async () => {
  const state = await stateOf({ 'store.db': randomBytes(FRAMED_BYTES) })
  const archive = await archiveOf(state, PASSPHRASE)
  const ends: number[] = []
  for (let end = HEADER_BYTES; end < archive.length; end += FRAME_BYTES) ends.push(end)
  assert.ok(ends.length > 30)
  for (const end of ends) {
    assert.is(await readBack(archive.subarray(0, end), PASSPHRASE), 'backup_decrypt_failed')
    const without = Buffer.concat([archive.subarray(0, end), archive.subarray(end + FRAME_BYTES)])
    assert.is(await readBack(without, PASSPHRASE), 'backup_decrypt_failed')
  }
  const [first = 0, second = 0, third = 0] = ends
  const swapped = Buffer.concat([
    archive.subarray(0, first),
    archive.subarray(second, third),
    archive.subarray(first, second),
    archive.subarray(third),
  ])
  assert.is(await readBack(swapped, PASSPHRASE), 'backup_decrypt_failed')
  await state.release()
})

test('another passphrase, or none, opens nothing', async () => {
  const state = await smallState()
  const archive = await archiveOf(state, PASSPHRASE)
  assert.is(await readBack(archive, Buffer.from('another passphrase')), 'backup_decrypt_failed')
  assert.is(await readBack(archive), 'backup_decrypt_failed')
  await state.release()
})

test.run()
