import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { all, engineFixture, scripted } from './engine-fixture.ts'

const engine = suite('kernel/reconcile/options')

engine('runs as many calls at a time as it may, never two with one key', async () => {
  const { clock, engine: made, metrics } = engineFixture()
  const sims = scripted('sim', { batch: 2, concurrency: 2 })
  const gate = Promise.withResolvers<void>()
  sims.answer = async () => {
    await gate.promise
    return new Map()
  }
  await made.attach('sims', [sims])
  await clock.advance(0)
  for (const key of ['a', 'b', 'c', 'd', 'e', 'a']) made.enqueue('sim', key)
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(0)
  assert.equal(sims.calls, [
    ['a', 'b'],
    ['c', 'd'],
  ])
  assert.match(await metrics.text(), 'svc_reconcile_active_workers{resource="sim"} 2')
  gate.resolve()
  await clock.advance(0)
  assert.equal(sims.calls.slice(2).flat().sort(), ['a', 'e'])
  await made.close()
})

engine('takes an urgent key before all others, beside a call that lasts', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { batch: 10, urgentConcurrency: 1 })
  const gate = Promise.withResolvers<void>()
  sims.answer = async (keys) => {
    if (!keys.includes('cut')) await gate.promise
    return all(keys, { state: 'converged' })
  }
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'import')
  await clock.advance(0)
  made.enqueue('sim', 'waits')
  made.enqueue('sim', 'cut')
  made.enqueue('sim', 'cut', true)
  await clock.advance(0)
  assert.equal(sims.calls, [['import'], ['cut']])
  gate.resolve()
  await clock.advance(0)
  assert.equal(sims.calls, [['import'], ['cut'], ['waits']])
  await made.close()
})

engine('keeps a key urgent until it is done', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { urgentConcurrency: 1 })
  let turn = 0
  sims.answer = async (keys) => {
    if (keys.includes('slow')) await new Promise(() => undefined)
    turn += 1
    if (turn === 1) return all(keys, { state: 'pending', afterMs: 300, reason: 'the core lets go' })
    if (turn === 2) return all(keys, { state: 'failed', reason: 'no answer' })
    return all(keys, { state: 'converged' })
  }
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'slow')
  made.enqueue('sim', 'cut', true)
  await clock.advance(0)
  await clock.advance(300)
  await clock.advance(1_000)
  assert.equal(sims.calls.flat().filter((key) => key === 'cut').length, 3)
  const closing = made.close()
  await clock.advance(5_000)
  await closing
})

engine('begins at most so many calls in a second, and gathers what comes meanwhile', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { batch: 10, callsPerS: 20, urgentConcurrency: 1 })
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(0)
  made.enqueue('sim', 'b')
  await clock.advance(20)
  made.enqueue('sim', 'c')
  made.enqueue('sim', 'now', true)
  await clock.advance(20)
  assert.equal(sims.calls, [['a'], ['now']])
  await clock.advance(10)
  assert.equal(sims.calls, [['a'], ['now'], ['b', 'c']])
  await made.close()
})

engine('backs off for the key that failed alone, as the reconciler asks', async () => {
  const { clock, engine: made, metrics } = engineFixture()
  const sims = scripted('sim', { batch: 10, backoff: { firstMs: 100, longestMs: 250 } })
  const atMs: number[] = []
  sims.answer = async (keys) => {
    if (keys.includes('ill')) atMs.push(clock.monotonicMs())
    return new Map([['ill', { state: 'failed', reason: 'refused' }]])
  }
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'ill')
  made.enqueue('sim', 'well')
  await clock.advance(1_000)
  assert.equal(atMs, [0, 100, 300, 550, 800])
  assert.is(sims.calls.flat().filter((key) => key === 'well').length, 1)
  assert.match(await metrics.text(), 'svc_reconcile_total{resource="sim",result="failed"} 5')
  await made.close()
})

engine('takes one outcome for all keys of a call', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { batch: 2 })
  sims.answer = async () => ({ state: 'pending', afterMs: 500, reason: 'not yet' })
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  made.enqueue('sim', 'b')
  await clock.advance(500)
  assert.equal(sims.calls, [
    ['a', 'b'],
    ['a', 'b'],
  ])
  await made.close()
})

engine('says a fault that lasts once, and again when it has changed or came back', async () => {
  const { clock, engine: made, lines } = engineFixture()
  const sims = scripted('sim', { backoff: { firstMs: 1_000, longestMs: 1_000 } })
  let fault: string | undefined = 'no answer'
  sims.answer = async () => {
    if (fault !== undefined) throw new Error(fault)
    return new Map()
  }
  const said = (): number =>
    lines.filter(({ level, message }) => level === 'warn' && message === 'reconcile failed').length
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(10_000)
  assert.is(said(), 1)
  fault = 'refused'
  await clock.advance(5_000)
  assert.is(said(), 2)
  fault = undefined
  await clock.advance(1_000)
  fault = 'refused'
  made.enqueue('sim', 'a')
  await clock.advance(0)
  assert.is(said(), 3)
  await made.close()
})

engine(
  'leaves all keys alone while what they reach is away, and has one try whether it is back',
  async () => {
    const { clock, engine: made } = engineFixture()
    let awayUntilMs: number | undefined = clock.monotonicMs() + 2_000
    const restMs = (): number | undefined =>
      awayUntilMs === undefined ? undefined : Math.max(0, awayUntilMs - clock.monotonicMs())
    const sims = scripted('sim', { batch: 10, resyncMs: 1_000, urgentConcurrency: 1, restMs })
    sims.listed = ['a', 'b', 'c']
    await made.attach('sims', [sims])
    made.begin()
    made.enqueue('sim', 'cut', true)
    await clock.advance(1_500)
    assert.equal(sims.calls, [])
    assert.ok(made.isIdle, 'nothing is due while it is away')
    assert.ok(made.isReady, 'nobody waits for what cannot be looked at')
    sims.answer = async (keys) => {
      awayUntilMs = clock.monotonicMs() + 4_000
      return all(keys, { state: 'pending', afterMs: 0, reason: 'no answer' })
    }
    await clock.advance(500)
    assert.equal(sims.calls, [['cut']])
    await clock.advance(3_900)
    assert.is(sims.calls.length, 1)
    sims.answer = async () => {
      awayUntilMs = undefined
      return new Map()
    }
    await clock.advance(100)
    assert.equal(sims.calls.slice(1), [['cut'], ['a', 'b', 'c']])
    await made.close()
  },
)

engine.run()
