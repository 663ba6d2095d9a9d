import { appendFile, copyFile, readFile, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { assert, runTool, suite, tempDir } from '@steeple/testkit'
import { newLinesOfFile } from '../../src/logs/log-file.ts'

const test = suite('southbound/log-file')

/** A log that is written and rotated, and its reader, who keeps his place as a service does. */
async function started(path: string) {
  const log = join(path, 'mme.log')
  await writeFile(log, 'before\n')
  let { position } = await newLinesOfFile(log, undefined)
  let isWhole = true
  return {
    log,
    at: (name: string) => join(path, name),
    read: async (): Promise<readonly string[]> => {
      const found = await newLinesOfFile(log, position)
      position = found.position
      isWhole &&= found.isWhole
      return found.lines
    },
    isWhole: () => isWhole,
  }
}

test('gives each line once, and a line that is being written when it is whole', async () => {
  await using folder = await tempDir()
  const { log, read, isWhole } = await started(folder.path)
  assert.equal(await read(), [])
  await appendFile(log, 'one\ntwo\nthr')
  assert.equal(await read(), ['one', 'two'])
  assert.equal(await read(), [])
  await appendFile(log, 'ee\n')
  assert.equal(await read(), ['three'])
  assert.ok(isWhole())
})

test('follows a log that is renamed while its writer goes on in it', async () => {
  await using folder = await tempDir()
  const { log, at, read, isWhole } = await started(folder.path)
  await appendFile(log, 'one\n')
  await rename(log, at('mme.log.1'))
  assert.equal(await read(), ['one'])
  await writeFile(log, '')
  await appendFile(at('mme.log.1'), 'two\n')
  assert.equal(await read(), ['two'])
  await appendFile(at('mme.log.1'), 'three\n')
  await appendFile(log, 'four\n')
  assert.equal(await read(), ['three', 'four'])
  await appendFile(log, 'five\n')
  assert.equal(await read(), ['five'])
  assert.ok(isWhole())
})

test('follows a log over two rotations that were packed while nobody read', async () => {
  await using folder = await tempDir()
  const { log, at, read, isWhole } = await started(folder.path)
  await appendFile(log, 'one\n')
  const pack = async (name: string, seconds: number): Promise<void> => {
    await writeFile(at(name), gzipSync(await readFile(log)))
    await utimes(at(name), seconds, seconds)
    await writeFile(log, '')
  }
  await pack('mme.log-20261121.gz', 1_000)
  await appendFile(log, 'two\nthree\n')
  await pack('mme.log-20261122.gz', 2_000)
  await appendFile(log, 'four\n')
  assert.equal(await read(), ['one', 'two', 'three', 'four'])
  assert.equal(await read(), [])
  assert.ok(isWhole())
})

test('follows a log that is copied and cut', async () => {
  await using folder = await tempDir()
  const { log, at, read, isWhole } = await started(folder.path)
  await appendFile(log, 'one\n')
  await copyFile(log, at('mme.log.1'))
  await truncate(log)
  assert.equal(await read(), ['one'])
  await appendFile(log, 'two\n')
  assert.equal(await read(), ['two'])
  assert.ok(isWhole())
})

test('says that lines are gone when the log is another one and the old one is nowhere', async () => {
  await using folder = await tempDir()
  const { log, read, isWhole } = await started(folder.path)
  await appendFile(log, 'one\n')
  await rm(log)
  assert.equal(await read(), [])
  await writeFile(log, 'two\n')
  assert.equal(await read(), ['two'])
  assert.not(isWhole())
})

test('reads a log that has grown by much in parts, and loses none of it', async () => {
  await using folder = await tempDir()
  const { log, read } = await started(folder.path)
  const lines = Array.from({ length: 120_000 }, (_, i) => `line ${i} ${'x'.repeat(60)}`)
  await appendFile(log, `${lines.join('\n')}\n`)
  const found: string[] = []
  for (let part = await read(); part.length > 0; part = await read()) found.push(...part)
  assert.ok(found.length === lines.length && found.every((line, i) => line === lines[i]))
})

test('reads a log that is not there yet from its beginning', async () => {
  await using folder = await tempDir()
  const log = join(folder.path, 'mme.log')
  const { position } = await newLinesOfFile(log, undefined)
  assert.equal((await newLinesOfFile(log, position)).lines, [])
  await writeFile(log, 'one\n')
  assert.equal((await newLinesOfFile(log, position)).lines, ['one'])
})

test('says which log is not there', async () => {
  const failed = await newLinesOfFile('/nonexistent/mme.log', undefined).catch((error: unknown) => error)
  assert.match(String(failed), /\/nonexistent\/mme\.log/)
})

test('waits for no pipe where a log should be, and says that it is one', async () => {
  await using folder = await tempDir()
  const log = join(folder.path, 'mme.log')
  const { position } = await newLinesOfFile(log, undefined)
  runTool('mkfifo', log)
  for (const from of [undefined, position]) {
    const failed = await newLinesOfFile(log, from).catch((error: unknown) => error)
    assert.match(String(failed), /mme[.]log: it is a pipe, a device or a directory where a file must be/)
  }
})

test.run()
