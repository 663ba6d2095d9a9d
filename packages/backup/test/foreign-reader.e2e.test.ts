import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assert, suite, tempDir } from '@steeple/testkit'
import { writeArchive } from '../src/format/archive.ts'
import { PASSPHRASE, stateOf } from './support/state.ts'

const test = suite('a program of somebody else')

const PROGRAM = fileURLToPath(new URL('../../../docs/programs/decrypt.py', import.meta.url))
const hasPython = spawnSync('python3', ['-c', 'import cryptography']).status === 0
if (!hasPython) process.stdout.write('needs python3 with cryptography\n')

/** Runs the program of the documentation as it says. */
function decrypt(
  from: string,
  to: string,
  passphrase: Buffer,
): { readonly code: number | null; readonly said: string } {
  const { status, stderr } = spawnSync('python3', [PROGRAM, from, to], { input: passphrase })
  return { code: status, said: String(stderr) }
}

if (hasPython) {
  test('the program of the documentation reads a backup, and nothing that was changed', async () => {
    await using dir = await tempDir()
    const store = randomBytes(150_000)
    const state = await stateOf({ 'store.db': store, 'keys/vault.key': randomBytes(32) })
    const [enc, plain] = [join(dir.path, 'a.enc'), join(dir.path, 'a.tar.gz')]
    const pieces: Buffer[] = []
    for await (const piece of writeArchive(state, PASSPHRASE)) pieces.push(piece)
    const archive = Buffer.concat(pieces)
    await writeFile(enc, archive)
    assert.equal(decrypt(enc, plain, PASSPHRASE), { code: 0, said: '' })
    assert.is(spawnSync('tar', ['xzf', plain], { cwd: dir.path }).status, 0)
    assert.equal(await readFile(join(dir.path, 'store.db')), store)

    assert.match(decrypt(enc, `${plain}2`, Buffer.from('something else')).said, /another one/)
    await writeFile(enc, archive.subarray(0, 65_605))
    assert.match(decrypt(enc, `${plain}3`, PASSPHRASE).said, /end of the file is missing/)
    archive.writeUInt8(archive.readUInt8(70_000) ^ 1, 70_000)
    await writeFile(enc, archive)
    assert.match(decrypt(enc, `${plain}4`, PASSPHRASE).said, /frame 1 is damaged/)
    await state.release()
  })
} else {
  test('is tried where python3 has cryptography', () => {})
}

test.run()
