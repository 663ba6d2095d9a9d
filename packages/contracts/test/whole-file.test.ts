import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  createFileSync,
  removeDrafts,
  replaceFile,
  replaceFileSync,
  writeNewFile,
} from '../src/whole-file.ts'

const files = suite('contracts/whole-file')
/** A process that has ended. */
const ENDED = 2 ** 22 + 1

function inFolder(test: (folder: string, path: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = fs.mkdtempSync(join(tmpdir(), 'steeple-whole-'))
    try {
      await test(folder, join(folder, 'file'))
    } finally {
      fs.rmSync(folder, { recursive: true })
    }
  }
}

async function* chunks(count: number, text: string, failsAt = Infinity): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < count; at += 1) {
    if (at === failsAt) throw new Error('cut off')
    yield Buffer.from(text)
  }
}

async function refused(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'it was written',
    (error: unknown) => String(error),
  )
}

files(
  'wherever the content breaks off, the old one stays and nothing else is there',
  inFolder(async (folder, path) => {
    for (let at = 0; at <= 6; at += 1) {
      replaceFileSync(path, 'old')
      const failed = await refused(replaceFile(path, chunks(6, 'new', at)))
      assert.is(fs.readFileSync(path, 'utf8'), at < 6 ? 'old' : 'new'.repeat(6))
      assert.is(failed, at < 6 ? 'Error: cut off' : 'it was written')
      assert.equal(fs.readdirSync(folder), ['file'])
    }
    assert.throws(() =>
      replaceFileSync(path, 'x', {
        before: () => {
          throw new Error('not now')
        },
      }),
    )
    assert.is(fs.readFileSync(path, 'utf8'), 'new'.repeat(6))
    assert.equal(fs.readdirSync(folder), ['file'])
  }),
)

files(
  'of writers at once one wins, whole',
  inFolder(async (folder, path) => {
    await Promise.all(['a', 'b', 'c'].map((letter) => replaceFile(path, chunks(50, letter))))
    assert.match(fs.readFileSync(path, 'utf8'), /^(a{50}|b{50}|c{50})$/)
    assert.equal(fs.readdirSync(folder), ['file'])
    assert.equal(
      [createFileSync(join(folder, 'once'), '1'), createFileSync(join(folder, 'once'), '2')],
      [true, false],
    )
    assert.is(fs.readFileSync(join(folder, 'once'), 'utf8'), '1')
    assert.match(await refused(writeNewFile(path, 'x')), /EEXIST/)
    assert.equal(fs.readdirSync(folder), ['file', 'once'])
  }),
)

files(
  'follows no link, and the mode is what was asked for',
  inFolder(async (folder, path) => {
    const other = join(folder, 'other')
    const writers = [
      () => replaceFileSync(path, 'x'),
      () => replaceFile(path, 'x'),
      () => replaceFile(path, 'x', { mode: 0o646 }),
      () => createFileSync(path, 'x', { mode: 0o646 }),
      () => writeNewFile(path, 'x', { mode: 0o646 }),
    ]
    for (const [at, write] of writers.entries()) {
      fs.writeFileSync(other, 'untouched')
      fs.rmSync(path, { force: true })
      if (at < 3) fs.symlinkSync(other, path)
      await write()
      assert.is(fs.readFileSync(other, 'utf8'), 'untouched')
      assert.ok(fs.lstatSync(path).isFile())
      assert.is(fs.statSync(path).mode & 0o777, at < 2 ? 0o600 : 0o646)
    }
  }),
)

files(
  'what killed writers left goes, with the next write of the file or all at once; drafts of living ones stay',
  inFolder(async (folder, path) => {
    const draft = (name: string, pid: number): string => `.${name}.${pid}-00c0ffee.tmp`
    const names = [draft('file', ENDED), draft('other', ENDED), draft('file', process.ppid), '.file.tmp']
    for (const name of names) fs.writeFileSync(join(folder, name), '')
    await replaceFile(path, 'x')
    assert.equal(new Set(fs.readdirSync(folder)), new Set([...names.slice(1), 'file']))
    fs.writeFileSync(join(folder, draft('file', process.pid)), '')
    removeDrafts(folder)
    assert.equal(new Set(fs.readdirSync(folder)), new Set([...names.slice(2), 'file']))
    removeDrafts(join(folder, 'absent'))
  }),
)

files.run()
