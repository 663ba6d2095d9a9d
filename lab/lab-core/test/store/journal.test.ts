import { appendFile, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert, suite, tempDir } from '@steeple/testkit'
import fc from 'fast-check'
import { openJournal } from '../../src/store/journal.ts'

const journal = suite('lab-core/store/journal')

journal('has after a restart what was put, for its owner alone', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'j')
  const first = await openJournal<number>(path)
  await Promise.all([first.put('a', 1), first.put('b', 2), first.put('a', 3), first.put('c', 4)])
  await first.put('b', undefined)
  await first.close()
  assert.is((await stat(path)).mode & 0o777, 0o600)
  const second = await openJournal<number>(path)
  assert.equal(
    [...second.entries],
    [
      ['a', 3],
      ['c', 4],
    ],
  )
  await second.close()
})

journal('loses at most the line that a power cut left half-written', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'j')
  const whole = '["a",1]\n["b",2]\n["a",null]\n["c",{"k":"v"}]\n'
  for (let cut = 0; cut <= whole.length; cut += 1) {
    await writeFile(path, whole.slice(0, cut))
    const opened = await openJournal<unknown>(path)
    const lines = whole.slice(0, cut).split('\n').slice(0, -1)
    const expected = new Map<string, unknown>()
    for (const [key, value] of lines.map((line) => JSON.parse(line) as [string, unknown]))
      if (value === null) expected.delete(key)
      else expected.set(key, value)
    assert.equal([...opened.entries], [...expected])
    await opened.put('d', 5)
    await opened.close()
    const again = await openJournal<unknown>(path)
    assert.is(again.entries.get('d'), 5)
    await again.close()
  }
})

journal('refuses a file that is no journal, and says nothing of what is in it', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'j')
  await writeFile(path, '["a",1]\n{"k":"465b5ce8b199b49faa5f0a2ee238a6bc"}\n["b",2]\n')
  const error = await openJournal(path).then(
    () => undefined,
    (reason: Error) => reason,
  )
  assert.match(String(error?.message), /is damaged; remove it/)
  assert.not.match(String(error?.message), /465b/)
})

journal('keeps any values under any keys, and shrinks at a restart', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'j')
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.string(), fc.option(fc.jsonValue({ maxDepth: 1 }), { nil: undefined })), {
        maxLength: 20,
      }),
      async (puts) => {
        await writeFile(path, '')
        const opened = await openJournal<unknown>(path)
        const values = puts.filter(([, value]) => value !== null)
        await Promise.all(values.map(([key, value]) => opened.put(key, value)))
        const held = [...opened.entries]
        await opened.close()
        const again = await openJournal<unknown>(path)
        assert.equal(JSON.stringify([...again.entries]), JSON.stringify(held))
        await again.close()
        const lines = (await readFile(path, 'utf8')).split('\n').length - 1
        assert.is(lines, held.length)
      },
    ),
    { numRuns: 25 },
  )
})

journal('writes the file anew when most of it is of the past', async () => {
  await using dir = await tempDir()
  const path = join(dir.path, 'j')
  const filler = Array.from({ length: 20_050 }, (_none, i) => `["a",${i}]\n`).join('')
  const opened = await openJournal<number>(path)
  await Promise.all(Array.from({ length: 20_050 }, (_none, i) => opened.put('a', i)))
  await opened.put('b', 1)
  const { size } = await stat(path)
  assert.ok(size < filler.length / 10, `${size} octets`)
  await opened.close()
  await appendFile(path, '["c"')
  const again = await openJournal<number>(path)
  assert.equal(
    [...again.entries],
    [
      ['a', 20_049],
      ['b', 1],
    ],
  )
  await again.close()
})

journal.run()
