import { suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { all, engineFixture, scripted } from './engine-fixture.ts'

const engine = suite('kernel/reconcile/reconcile-engine')

engine('looks at every key once at the start and is ready then', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { batch: 2 })
  sims.listed = ['a', 'b', 'c']
  await made.attach('sims', [sims])
  made.begin()
  assert.not(made.isReady)
  await clock.advance(0)
  assert.equal(sims.calls, [['a', 'b'], ['c']])
  assert.ok(made.isReady)
  await made.close()
})

engine('is ready without any reconciler once the start is over', async () => {
  const { engine: made } = engineFixture()
  assert.not(made.isReady)
  made.begin()
  assert.ok(made.isReady)
  await made.close()
})

engine('is ready although a first look failed, and stays ready when a plugin comes later', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  sims.listed = ['a']
  sims.answer = async () => {
    throw new Error('the HSS is away')
  }
  await made.attach('sims', [sims])
  made.begin()
  await clock.advance(0)
  assert.ok(made.isReady)
  const late = scripted('peer')
  late.listed = ['p']
  await made.attach('mesh', [late])
  assert.ok(made.isReady)
  await made.close()
})

engine('is ready although a key was asked for and given up before the first listing had ended', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  let list: (keys: readonly string[]) => void = () => undefined
  sims.keys = () => new Promise((resolve) => (list = resolve))
  sims.answer = async () => new Map([['a', { state: 'terminal', reason: 'no such profile' }]])
  await made.attach('sims', [sims])
  made.begin()
  made.enqueue('sim', 'a')
  await clock.advance(0)
  assert.equal(sims.calls, [['a']])
  list(['a'])
  await clock.advance(0)
  assert.ok(made.isReady)
  await made.close()
})

engine('is not ready while the keys of a resource cannot be listed', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  let isBroken = true
  sims.keys = async () => {
    if (isBroken) throw new Error('store away')
    return ['a']
  }
  await made.attach('sims', [sims])
  made.begin()
  await clock.advance(500)
  assert.not(made.isReady)
  isBroken = false
  await clock.advance(600)
  assert.ok(made.isReady)
  assert.equal(sims.calls, [['a']])
  await made.close()
})

engine('looks once at a key that was asked for many times', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { batch: 10 })
  await made.attach('sims', [sims])
  await clock.advance(0)
  for (const key of ['a', 'b', 'a', 'a', 'b']) made.enqueue('sim', key)
  await clock.advance(0)
  assert.equal(sims.calls, [['a', 'b']])
  await made.close()
})

engine('looks again at a key that is asked for while it is worked on, never at the same time', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  const gate = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  sims.answer = async () => {
    running += 1
    most = Math.max(most, running)
    await gate.promise
    running -= 1
    return new Map()
  }
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(0)
  made.enqueue('sim', 'a')
  made.enqueue('sim', 'b')
  await clock.advance(0)
  assert.equal(sims.calls, [['a']])
  gate.resolve()
  await clock.advance(0)
  assert.equal(sims.calls.flat().sort(), ['a', 'a', 'b'])
  assert.is(most, 1)
  await made.close()
})

engine('comes back to a pending key after the time it asked for', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  sims.answer = async (keys) =>
    all(keys, { state: 'pending', afterMs: 2_000, reason: 'waiting for the core' })
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(1_999)
  assert.is(sims.calls.length, 1)
  await clock.advance(1)
  assert.is(sims.calls.length, 2)
  await made.close()
})

engine('does not spin on a pending outcome without a usable time', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  sims.answer = async (keys) => all(keys, { state: 'pending', afterMs: Number.NaN, reason: 'odd' })
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(1_000)
  assert.ok(sims.calls.length <= 21, `${sims.calls.length} calls in a second`)
  await made.close()
})

engine('backs off from 1 s to 5 min while calls throw, and starts anew after a success', async () => {
  const { clock, engine: made, lines } = engineFixture()
  const sims = scripted('sim')
  const atMs: number[] = []
  let isBroken = true
  sims.answer = async () => {
    atMs.push(clock.monotonicMs())
    if (isBroken) throw new Error('no answer')
    return new Map()
  }
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(2_000_000)
  const gaps = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0))
  assert.equal(gaps.slice(0, 9), [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000])
  assert.ok(gaps.slice(9).every((gap) => gap === 300_000))
  assert.ok(
    lines.some(
      ({ message, facts }) => message === 'reconcile failed' && typeof facts.reconcileId === 'string',
    ),
  )
  isBroken = false
  await clock.advance(300_000)
  isBroken = true
  atMs.length = 0
  made.enqueue('sim', 'a')
  await clock.advance(1_000)
  assert.is(atMs.length, 2)
  await made.close()
})

engine('spreads the backoff by at most a fifth', async () => {
  const { clock, engine: made } = engineFixture(() => 0.999_999)
  const sims = scripted('sim')
  const atMs: number[] = []
  sims.answer = async () => {
    atMs.push(clock.monotonicMs())
    throw new Error('no answer')
  }
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(10_000)
  assert.is((atMs[1] ?? 0) - (atMs[0] ?? 0), 800)
  await made.close()
})

engine('leaves a terminal key alone, also at a resync, until somebody asks for it', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { resyncMs: 10_000 })
  sims.listed = ['a']
  sims.answer = async (keys) => all(keys, { state: 'terminal', reason: 'the HSS refuses it' })
  await made.attach('sims', [sims])
  await clock.advance(60_000)
  assert.is(sims.calls.length, 1)
  made.enqueue('sim', 'a')
  await clock.advance(0)
  assert.is(sims.calls.length, 2)
  await made.close()
})

engine('finds drift by a resync with jitter', async () => {
  const { clock, engine: made } = engineFixture(() => 0.5)
  const sims = scripted('sim', { resyncMs: 10_000 })
  sims.listed = ['a']
  await made.attach('sims', [sims])
  await clock.advance(0)
  sims.listed = ['a', 'b']
  await clock.advance(9_999)
  assert.equal(sims.calls, [['a']])
  await clock.advance(1)
  assert.equal(sims.calls, [['a'], ['a'], ['b']])
  await made.close()
})

engine('aborts a call that takes too long and tries again later', async () => {
  const { clock, engine: made, metrics } = engineFixture()
  const sims = scripted('sim', { timeoutMs: 3_000 })
  let aborts = 0
  sims.answer = (_keys, signal) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        aborts += 1
        reject(new Error('aborted'))
      })
    })
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(3_000)
  assert.is(aborts, 1)
  await clock.advance(1_000)
  assert.is(sims.calls.length, 2)
  assert.match(await metrics.text(), 'svc_reconcile_total{resource="sim",result="timeout"} 1')
  await made.close()
})

engine('never calls a second time beside a call that ignores its signal', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim', { timeoutMs: 1_000 })
  sims.answer = () => new Promise(() => undefined)
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  made.enqueue('sim', 'b')
  await clock.advance(600_000)
  assert.equal(sims.calls, [['a']])
  const closing = made.close()
  await clock.advance(5_000)
  await closing
})

engine('survives a reconciler that throws at once or answers nonsense', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  let turn = 0
  sims.reconcile = (() => {
    turn += 1
    if (turn === 1) throw new TypeError('not even a promise')
    return Promise.resolve('nonsense')
  }) as never
  await made.attach('sims', [sims])
  await clock.advance(0)
  made.enqueue('sim', 'a')
  await clock.advance(3_000)
  assert.is(turn, 3)
  await made.close()
})

engine('carries waiting keys over to the next copy of a reconciler', async () => {
  const { clock, engine: made } = engineFixture()
  const before = scripted('sim')
  const gate = Promise.withResolvers<ReadonlyMap<string, never>>()
  before.answer = (_keys, signal) => {
    signal.addEventListener('abort', () => gate.reject(new Error('aborted')))
    return gate.promise
  }
  await made.attach('sims', [before])
  await clock.advance(0)
  made.enqueue('sim', 'gone')
  await clock.advance(0)
  made.enqueue('sim', 'waiting')
  const after = scripted('sim')
  await made.attach('sims', [after])
  await clock.advance(0)
  assert.equal(before.calls, [['gone']])
  assert.equal(after.calls.flat().sort(), ['gone', 'waiting'])
  await made.close()
})

engine('does nothing between pause and attach, and keeps what is asked for meanwhile', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  await made.attach('sims', [sims])
  await clock.advance(0)
  await made.pause('sims')
  made.enqueue('sim', 'a')
  await clock.advance(3_600_000)
  assert.equal(sims.calls, [])
  await made.attach('sims', [sims])
  await clock.advance(0)
  assert.equal(sims.calls, [['a']])
  await made.close()
})

engine('refuses a resource that another plugin reconciles', async () => {
  const { engine: made } = engineFixture()
  await made.attach('sims', [scripted('sim')])
  assert.is(made.problemOf('other', [scripted('sim')]), 'the resource sim is reconciled by sims')
  assert.is(made.problemOf('other', [scripted('x'), scripted('x')]), 'the resource x is named twice')
  assert.is(made.problemOf('sims', [scripted('sim')]), undefined)
  await made.close()
})

engine('costs no timer but the next resync while nothing is due, and none when closed', async () => {
  const { clock, engine: made } = engineFixture()
  const sims = scripted('sim')
  sims.listed = ['a', 'b']
  await made.attach('sims', [sims])
  await clock.advance(0)
  assert.is(clock.pending, 1)
  await made.close()
  assert.is(clock.pending, 0)
})

engine('counts results, durations and the depth of the queue', async () => {
  const { clock, engine: made, metrics } = engineFixture()
  const sims = scripted('sim', { batch: 3 })
  sims.listed = ['a', 'b', 'c']
  sims.answer = async () =>
    new Map([
      ['a', { state: 'pending', afterMs: 60_000, reason: 'later' }],
      ['b', { state: 'terminal', reason: 'never' }],
    ])
  await made.attach('sims', [sims])
  await clock.advance(0)
  const text = await metrics.text()
  assert.match(text, 'svc_reconcile_total{resource="sim",result="pending"} 1')
  assert.match(text, 'svc_reconcile_total{resource="sim",result="terminal"} 1')
  assert.match(text, 'svc_reconcile_total{resource="sim",result="converged"} 1')
  assert.match(text, 'svc_reconcile_duration_seconds_count{resource="sim"} 1')
  assert.match(text, 'svc_reconcile_queue_depth{resource="sim"} 1')
  await made.close()
})

engine.run()
