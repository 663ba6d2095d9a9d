import { assert, fakeClock, suite } from '@steeple/testkit'
import { createMetricsText } from '../src/system/routes.ts'

const texts = suite('api/metrics-text')

/** A kernel whose making of the text takes as long as the test wants. */
function world() {
  const clock = fakeClock()
  const makings: PromiseWithResolvers<string>[] = []
  const kernel = {
    clock,
    metricsRevision: () => kernel.revision,
    revision: 0,
    metricsText: async () => {
      const making = Promise.withResolvers<string>()
      makings.push(making)
      return await making.promise
    },
  }
  const ask = createMetricsText({ kernel, metrics: { text: () => '' } })
  return { clock, kernel, makings, ask: async () => Buffer.from(await ask()).toString() }
}

texts('makes it once for all who ask meanwhile, and for a while afterwards', async () => {
  const { clock, makings, ask } = world()
  const [first, second] = [ask(), ask()]
  await clock.advance(10)
  makings[0]?.resolve('one')
  assert.equal(await Promise.all([first, second, ask()]), ['one', 'one', 'one'])
  await clock.advance(201)
  const later = ask()
  makings[1]?.resolve('two')
  assert.is(await later, 'two')
})

texts('gives nobody what was made before a copy of a plugin came or went', async () => {
  const { clock, kernel, makings, ask } = world()
  const before = ask()
  await clock.advance(10)
  makings[0]?.resolve('old copy')
  assert.is(await before, 'old copy')
  kernel.revision += 1
  const after = ask()
  makings[1]?.resolve('new copy')
  assert.is(await after, 'new copy')
})

texts('gives nobody what was begun before a copy came, were it made after', async () => {
  const { kernel, makings, ask } = world()
  const before = ask()
  kernel.revision += 1
  const after = ask()
  makings[1]?.resolve('new copy')
  makings[0]?.resolve('old copy')
  assert.equal(await Promise.all([before, after, ask()]), ['old copy', 'new copy', 'new copy'])
})

texts('tries again after a making that failed', async () => {
  const { makings, ask } = world()
  const failed = ask()
  makings[0]?.reject(new Error('no'))
  assert.is(await failed.catch(() => 'failed'), 'failed')
  const next = ask()
  makings[1]?.resolve('text')
  assert.is(await next, 'text')
})

texts.run()
