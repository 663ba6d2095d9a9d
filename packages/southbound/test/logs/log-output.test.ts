import { assert, suite } from '@steeple/testkit'
import { newLinesOfOutput } from '../../src/logs/log-output.ts'

const test = suite('southbound/log-output')
const never = new AbortController().signal

/** An engine that knows the output of one container, and its reader. */
function started(before: readonly string[]) {
  const output = [...before]
  const engine = {
    logsSince: async (_container: string, lines: number, at: string | undefined) =>
      output
        .slice(-lines)
        .filter(
          (line) =>
            at === undefined ||
            Date.parse(line.split(' ')[0] ?? '') >= Math.floor(Date.parse(at) / 1_000) * 1_000,
        )
        .map((line) => `${line}\n`)
        .join(''),
  }
  let position: string | undefined
  return {
    say: (...lines: readonly string[]) => void output.push(...lines),
    read: async () => {
      const found = await newLinesOfOutput(engine, 'mme', position, never)
      position = found.position
      return found
    },
  }
}

test('gives each line once, also of the same second and the same moment', async () => {
  const { say, read } = started(['2026-11-23T12:00:00.100000000Z before'])
  assert.equal((await read()).lines, [])
  say('2026-11-23T12:00:00.100000001Z one', '2026-11-23T12:00:00.2Z two')
  assert.equal((await read()).lines, ['one', 'two'])
  assert.equal((await read()).lines, [])
  say('2026-11-23T12:00:00.2Z three')
  assert.equal((await read()).lines, ['three'])
  say('2026-11-23T12:00:00.2Z four', '2026-11-23T12:00:01Z five')
  assert.equal((await read()).lines, ['four', 'five'])
  assert.equal((await read()).lines, [])
})

test('begins at the end, also of what has said nothing yet', async () => {
  const { say, read } = started([])
  assert.equal((await read()).lines, [])
  say('2026-11-23T12:00:00.1Z one')
  assert.equal((await read()).lines, ['one'])
})

test('asks for more lines when there are many, and says when even those do not reach back', async () => {
  const { say, read } = started(['2026-11-23T12:00:00.1Z before'])
  await read()
  const many = (count: number, second: string) =>
    Array.from({ length: count }, (_, i) => `2026-11-23T12:00:${second}.${String(i).padStart(9, '0')}Z ${i}`)
  say(...many(5_000, '01'))
  const some = await read()
  assert.equal([some.lines.length, some.isWhole], [5_000, true])
  say(...many(30_000, '02'))
  const most = await read()
  assert.equal([most.lines.length, most.isWhole], [20_000, false])
})

test.run()
