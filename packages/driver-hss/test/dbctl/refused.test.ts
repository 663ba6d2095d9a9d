import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { assert, suite, unusedPort } from '@steeple/testkit'
import type { Ran, RunTool } from '../../src/dbctl/run-tool.ts'
import { untilSomebodyListens } from '../../src/dbctl/tool.ts'

const refused = suite('driver-hss/dbctl/refused')
const never = new AbortController().signal

/** A tool whose words are given, behind what is tested, and how often it has run. */
function toolThatSays(words: () => string, nowMs: () => number = () => 0) {
  const seen = { runs: 0 }
  const run: RunTool = async () => {
    seen.runs += 1
    return { output: 'matchedCount: 1', errors: words(), code: 1 }
  }
  const sparing = untilSomebodyListens(run, nowMs)
  return { seen, ask: (): Promise<Ran> => sparing(['showpretty'], never) }
}

const wordsAt = (...ports: readonly number[]): string =>
  `MongoNetworkError: ${ports.map((port) => `connect ECONNREFUSED 127.0.0.1:${port}`).join(', ')}`

async function listenAt(port: number): Promise<Server> {
  const server = createServer((socket) => void socket.destroy()).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

refused(
  'repeats the words of a run that was refused, and nothing else of it, until somebody listens',
  async () => {
    const ports = [await unusedPort(), await unusedPort()] as const
    const { seen, ask } = toolThatSays(() => wordsAt(...ports))
    const first = await ask()
    const again = await ask()
    assert.is(seen.runs, 1)
    assert.equal(again, { ...first, output: '' })
    const server = await listenAt(ports[1])
    await ask()
    assert.is(seen.runs, 2)
    server.close()
  },
)

refused('runs all the same after a while: the tool may be in a place of its own', async () => {
  let nowMs = 0
  const port = await unusedPort()
  const { seen, ask } = toolThatSays(
    () => wordsAt(port),
    () => nowMs,
  )
  await ask()
  nowMs = 2_999
  await ask()
  assert.is(seen.runs, 1)
  nowMs = 3_000
  await ask()
  assert.is(seen.runs, 2)
})

refused('tries once for all who ask at the same time while the database is away', async () => {
  let nowMs = 0
  let words = wordsAt(await unusedPort())
  const { seen, ask } = toolThatSays(
    () => words,
    () => nowMs,
  )
  await ask()
  nowMs = 3_000
  await Promise.all([ask(), ask(), ask()])
  assert.is(seen.runs, 2)
  nowMs = 6_000
  words = ''
  const answers = await Promise.all([ask(), ask(), ask()])
  assert.is(seen.runs, 5)
  assert.equal(new Set(answers.map(({ output }) => output)), new Set(['matchedCount: 1']))
})

refused('runs each time for any other words, also those that name no address', async () => {
  for (const words of [
    '',
    'MongoServerError: not primary',
    'connect ECONNREFUSED',
    'connect ECONNREFUSED x:1:99999',
  ]) {
    const { seen, ask } = toolThatSays(() => words)
    await ask()
    await ask()
    assert.is(seen.runs, 2, words)
  }
})

refused('ends with its signal, also while another tries', async () => {
  let nowMs = 0
  const ran: Ran = { output: '', errors: wordsAt(await unusedPort()), code: 1 }
  const hanging = Promise.withResolvers<Ran>()
  const answers = [Promise.resolve(ran), hanging.promise]
  const run = untilSomebodyListens(
    () => answers.shift() ?? Promise.resolve(ran),
    () => nowMs,
  )
  await run([], never)
  nowMs = 3_000
  const trying = run([], never)
  const impatient = new AbortController()
  const waiting = run([], impatient.signal)
  impatient.abort(new Error('over'))
  assert.match(await waiting.then(() => '', String), /over/)
  hanging.resolve(ran)
  assert.equal(await trying, ran)
})

refused.run()
