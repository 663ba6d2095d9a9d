import { randomBytes } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { assert, suite } from '@steeple/testkit'
import { archiveOf, PASSPHRASE, readBack, smallState, stateOf } from './support/state.ts'

const test = suite('archive')

test('what goes in comes out, in pieces of any size', async () => {
  const long = `plugins/${'a'.repeat(90)}@1.0.0-0a1b2c3d/${'b'.repeat(60)}.js`
  const files = {
    'store.db': randomBytes(200_001),
    'keys/vault.key': randomBytes(32),
    'keys/mesh/mesh.json': Buffer.from('{}'),
    [long]: Buffer.alloc(0),
    'plugins/state.json': randomBytes(512),
  }
  const state = await stateOf(files)
  for (const passphrase of [undefined, PASSPHRASE]) {
    const archive = await archiveOf(state, passphrase)
    for (const pieceBytes of [1_000_000, 65_536, 999, 511]) {
      const read = await readBack(archive, passphrase, pieceBytes)
      assert.equal(read, new Map(Object.entries(files)))
    }
  }
  await state.release()
})

test('an encrypted backup shows nothing of what is in it', async () => {
  const secret = Buffer.from('a very secret text that is easily found')
  const state = await stateOf({ 'store.db': Buffer.concat([secret, secret]), 'keys/jwt.key': secret })
  const archive = await archiveOf(state, PASSPHRASE)
  for (const text of ['very secret', 'manifest', 'keys/']) assert.not(archive.includes(text))
  await state.release()
})

test('two backups of the same state under the same passphrase have nothing in common but their beginning', async () => {
  const state = await smallState()
  const [one, other] = [await archiveOf(state, PASSPHRASE), await archiveOf(state, PASSPHRASE)]
  assert.equal(one.subarray(0, 16), other.subarray(0, 16))
  assert.not.equal(one.subarray(16, 48), other.subarray(16, 48))
  assert.not.equal(one.subarray(53, 100), other.subarray(53, 100))
  await state.release()
})

test('a plain backup is gzip as everybody reads it', async () => {
  const state = await smallState()
  const plain = gunzipSync(await archiveOf(state))
  assert.is(plain.toString('latin1', 0, 13), 'manifest.json')
  await state.release()
})

test('what is no backup is refused', async () => {
  for (const text of ['', 'x', 'hello, world', 'SVCBKP\r\n', '\u001f\u008b'])
    assert.match(String(await readBack(Buffer.from(text, 'latin1'), PASSPHRASE)), /^backup_/)
})

test.run()
