import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { replaceFile } from '../src/whole-file.ts'

const test = suite('contracts/whole-file killed')
/** Writes two files again and again, one in each way, and one that is created once. */
const WRITER = `
import { createFileSync, replaceFile, replaceFileSync } from ${JSON.stringify(join(import.meta.dirname, '../src/whole-file.ts'))}
const text = () => 'abcdefgh'[Math.floor(Math.random() * 8)].repeat(1 + Math.floor(Math.random() * 300_000)) + '.'
for (let n = 0; ; n += 1) {
  await replaceFile('async', text())
  replaceFileSync('sync', text())
  createFileSync('once-' + n % 100, text())
  if (n === 0) console.log('writes')
}`

test('killed at any moment, each file is whole, and the next write leaves nothing of the killed ones', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'steeple-kill-'))
  try {
    for (let round = 0; round < 12; round += 1) {
      const child = spawn(process.execPath, ['--input-type=module', '-e', WRITER], {
        cwd: folder,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const ended = once(child, 'exit')
      await once(child.stdout, 'data')
      // So many further writes, seen from outside: no two rounds are cut at the same place.
      for (let looks = 0; looks < round * 7; looks += 1) readdirSync(folder)
      child.kill('SIGKILL')
      await ended
      const names = readdirSync(folder).filter((name) => !name.startsWith('.'))
      assert.ok(names.includes('async') && names.includes('sync') && names.includes('once-0'))
      for (const name of names) assert.match(readFileSync(join(folder, name), 'utf8'), /^([a-h])\1*\.$/)
    }
    await replaceFile(join(folder, 'async'), 'a.')
    await replaceFile(join(folder, 'sync'), 'a.')
    assert.equal(
      readdirSync(folder).filter((name) => /^\.(async|sync)\./.test(name)),
      [],
    )
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test.run()
