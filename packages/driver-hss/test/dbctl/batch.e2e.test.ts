import { assert, hssDriverConformance, patient, suite } from '@steeple/testkit'
import { dbctlDriver } from '../../src/dbctl/dbctl-driver.ts'
import { batchRunner } from '../../src/dbctl/tool.ts'
import { dbctlFixture, type Executable, makeDbctl } from '../support/dbctl-tool.ts'
import { subscriber } from '../support/subscribers.ts'

const batch = suite('driver-hss/dbctl/batch')
const driverOf = (tool: Executable) => dbctlDriver({ path: tool.path, url: '', documents: undefined })

batch(
  'pushes, blocks and removes many subscribers in a few runs, and shows keys to no process list',
  async () => {
    const tool = await makeDbctl('batch')
    const driver = driverOf(tool)
    const many = Array.from({ length: 60 }, (_none, index) => subscriber(index))
    const imsis = many.map(({ imsi }) => imsi)
    for (const problem of (await driver.upsert(many, patient())).values()) assert.is(problem, undefined)
    assert.is((await tool.docs()).length, 60)
    const pushed = tool.runs.slice()
    assert.ok(pushed.length <= 8, `${pushed.length} runs`)
    assert.equal([...new Set(pushed.flat())], ['help', 'batch'])
    await driver.setBlocked(imsis, true, patient())
    assert.ok((await tool.docs()).every(({ slice }) => slice.length === 0))
    const seen = await driverOf(tool).observe(imsis, patient())
    assert.is([...seen.values()].filter(({ isBlocked }) => isBlocked).length, 60)
    await driver.remove(imsis, patient())
    assert.equal(await tool.docs(), [])
    assert.ok(tool.runs.length <= 14)
    await tool.remove()
  },
)

batch('keeps the calls of two callers apart', async () => {
  const runs: string[] = []
  const run = batchRunner(
    async (args, signal, input = '') => {
      signal.throwIfAborted()
      runs.push(`${args.join(' ')} ${input.trim()}`)
      const output = input
        .trim()
        .split('\n')
        .map(() => '"done"\n')
        .join('')
      return { output, errors: '', code: 0 }
    },
    ['--db_uri=x'],
  )
  const [one, two] = [new AbortController(), new AbortController()]
  const answers = Promise.allSettled([run(['a'], one.signal), run(['b'], one.signal), run(['c'], two.signal)])
  two.abort(new Error('enough'))
  assert.equal(
    (await answers).map((answer) => (answer.status === 'fulfilled' ? answer.value.output : 'gone')),
    ['done', 'done', 'gone'],
  )
  assert.equal(runs, ['--db_uri=x batch ["a"]\n["b"]'])
})

batch('fails what the tool did not answer, and only that', async () => {
  for (const printed of ['"fine"\n', '"fine"\nMongoNetworkError: k 465b\n', '"fine"\n{"output":"x"}\n']) {
    const run = batchRunner(async () => ({ output: printed, errors: '', code: 0 }), [])
    const [first, second] = await Promise.allSettled([run(['a'], patient0), run(['b'], patient0)])
    assert.is(first?.status === 'fulfilled' && first.value.output, 'fine')
    assert.match(String(second?.status === 'rejected' && second.reason), /did not answer/)
  }
})

batch('says in the words of the tool why a batch was not answered', async () => {
  const failed = { output: 'MongoNetworkError: no core serves it; start it\n', errors: '', code: 1 }
  const [answer] = await Promise.allSettled([batchRunner(async () => failed, [])(['a'], patient0)])
  assert.match(
    String(answer?.status === 'rejected' && answer.reason),
    /did not answer a command of its batch: MongoNetworkError: no core serves it; start it$/,
  )
})

const patient0 = new AbortController().signal

hssDriverConformance('driver-hss dbctl with a tool that takes batches', async () => {
  const tool = await makeDbctl('batch')
  return dbctlFixture(tool, driverOf(tool))
})

batch.run()
