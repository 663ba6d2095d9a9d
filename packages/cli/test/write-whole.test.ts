import { lstat, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import { writeWhole } from '../src/output/save-download.ts'

const whole = suite('cli/write-whole')

/** Chunks of one letter that come when the others of the same turn have come, too. */
async function* chunksOf(letter: string, turn: () => Promise<void>): AsyncGenerator<Buffer> {
  for (let at = 0; at < 20; at++) {
    await turn()
    yield Buffer.alloc(1_000, letter)
  }
}

/** Lets so many go on together, again and again. */
function together(count: number): () => Promise<void> {
  let waiting: (() => void)[] = []
  return () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting.push(resolve)
    if (waiting.length === count) {
      const all = waiting
      waiting = []
      for (const go of all) go()
    }
    return promise
  }
}

whole('gives one of two that are written at once under one name, and leaves nothing else', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'out')
  const turn = together(2)
  await Promise.all(['a', 'b'].map((letter) => writeWhole('bundle', path, chunksOf(letter, turn))))
  const text = await readFile(path, 'utf8')
  assert.is(text.length, 20_000)
  assert.is(new Set(text).size, 1, 'a mixture of both')
  assert.equal(await readdir(dir.path), ['out'])
})

whole('follows no link that somebody has put in its way', async () => {
  await using dir = await tempDir()
  const [path, other] = [join(dir.path, 'out'), join(dir.path, 'other')]
  await writeFile(other, 'untouched')
  for (const link of [path, `${path}.part`]) await symlink(other, link)
  await writeWhole(
    'bundle',
    path,
    chunksOf('a', async () => undefined),
  )
  assert.ok((await readFile(other, 'utf8')) === 'untouched', 'it was written through the link')
  assert.ok((await lstat(path)).isFile())
  assert.is((await lstat(path)).mode & 0o777, 0o600)
})

whole('leaves nothing of what did not come as a whole', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'out')
  const broken = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from('a')
    throw new Error('cut off')
  }
  try {
    await writeWhole('bundle', path, broken())
    assert.unreachable('it arrived')
  } catch (error) {
    assert.match(String(error), /did not arrive as a whole: cut off/)
  }
  assert.equal(await readdir(dir.path), [])
})

whole.run()
