import type { ComponentHealth } from '@steeple/contracts'
import { type FakeClock, fakeClock, suite } from '@steeple/testkit'
import * as assert from 'uvu/assert'
import { createHealthBoard, type HealthPoller } from '../src/health.ts'
import { createTestLog } from './plugins/test-host.ts'

const health = suite('kernel/health')

function board(): { clock: FakeClock; made: HealthPoller } {
  const clock = fakeClock(1_000_000)
  return {
    clock,
    made: createHealthBoard({ clock, timers: clock, log: createTestLog([]), isReady: () => true }),
  }
}

const ABOUT = { kind: 'feature', required: false } as const

const one = (status: ComponentHealth['status']): readonly ComponentHealth[] => [
  { name: 'mme', kind: 'core', status, detail: status, required: true },
]

health('shows nothing of an IMSI or a key, and no detail without an end', async () => {
  const { clock, made } = board()
  const [imsi, key] = ['001010123456789', '465b5ce8b199b49faa5f0a2ee238a6bc']
  const name = `sim.${imsi}`
  made.watch('a', ABOUT, async () => [
    { name, kind: 'feature', status: 'ok', detail: `no answer for ${imsi}, ${key}.` },
    { name: 'long', kind: 'feature', status: 'ok', detail: 'x'.repeat(1_000_000) },
  ])
  made.report('b', [{ name: 'b', kind: 'feature', status: 'down', detail: `failed at ${imsi}.` }])
  made.start()
  await clock.advance(0)
  const text = JSON.stringify(made.components())
  for (const secret of [imsi, key]) assert.not.ok(text.includes(secret), text.slice(0, 500))
  assert.ok(text.length < 10_000)
  made.close()
})

health('shows components under their owner, since when, and when they were well last', async () => {
  const { clock, made } = board()
  let status: ComponentHealth['status'] = 'ok'
  made.watch('core-a', ABOUT, async () => one(status))
  made.start()
  await clock.advance(0)
  assert.equal(made.components(), [
    {
      name: 'core-a.mme',
      kind: 'core',
      status: 'ok',
      detail: 'ok',
      required: true,
      sinceMs: 1_000_000,
      lastOkAtMs: 1_000_000,
    },
  ])
  await clock.advance(5_000)
  status = 'degraded'
  await clock.advance(10_000)
  const [seen] = made.components()
  assert.is(seen?.status, 'degraded')
  assert.is(seen?.sinceMs, 1_010_000)
  assert.is(seen?.lastOkAtMs, 1_005_000)
  assert.is(made.worst('core-a'), 'degraded')
  made.close()
})

health('looks again for who asks, at most once a second, and waits for nobody who hangs', async () => {
  const { clock, made } = board()
  let status: ComponentHealth['status'] = 'ok'
  let looks = 0
  made.watch('core-a', ABOUT, async () => {
    looks += 1
    return one(status)
  })
  made.start()
  await clock.advance(0)
  status = 'degraded'
  const asked = async () => {
    const answer = made.fresh()
    await clock.advance(600)
    return (await answer).map((component) => component.status)
  }
  assert.equal([await asked(), looks], [['ok'], 1])
  await clock.advance(400)
  assert.equal([await asked(), looks], [['degraded'], 2])
  made.watch('slow', ABOUT, () => new Promise(() => undefined))
  await clock.advance(1_000)
  status = 'down'
  assert.equal(await asked(), ['down'])
  made.close()
})

health('keeps the name of a component that is named as its owner', async () => {
  const { clock, made } = board()
  made.watch('store', { kind: 'store', required: true }, async () => [
    { name: 'store', kind: 'store', status: 'ok', detail: 'answers' },
  ])
  await made.poll()
  assert.equal(
    made.components().map(({ name }) => name),
    ['store'],
  )
  made.close()
  assert.is(clock.pending, 0)
})

health(
  'takes who was not looked at for a moment as it was, and has one part down when that lasts',
  async () => {
    const { clock, made } = board()
    let isBroken = false
    made.watch('core-a', ABOUT, async () => {
      if (isBroken) throw new Error('secret detail')
      return one('ok')
    })
    made.start()
    await clock.advance(0)
    isBroken = true
    const shown = () => made.components().map(({ name, status, incident }) => [name, status, incident])
    const mme = ['core-a.mme', 'ok', undefined]
    await clock.advance(10_000)
    assert.equal(shown(), [mme])
    await clock.advance(10_000)
    assert.equal(shown(), [mme, ['core-a', 'down', 'part']])
    const [, owner] = made.components()
    assert.equal([owner?.required, owner?.detail], [true, 'its health check fails'])
    isBroken = false
    await clock.advance(5_000)
    assert.equal(shown(), [mme])
    made.close()
  },
)

health('counts what a slow check says late, and misses one that hangs', async () => {
  const { clock, made } = board()
  let gate = Promise.withResolvers<readonly ComponentHealth[]>()
  gate.resolve(one('ok'))
  made.watch('core-a', ABOUT, () => gate.promise)
  made.start()
  await clock.advance(0)
  const slow = Promise.withResolvers<readonly ComponentHealth[]>()
  gate = slow
  await clock.advance(12_000)
  assert.is(made.worst('core-a'), 'ok')
  slow.resolve(one('degraded'))
  await clock.advance(0)
  assert.is(made.worst('core-a'), 'degraded')
  gate = Promise.withResolvers()
  await clock.advance(30_000)
  assert.is(made.worst('core-a'), 'down')
  made.close()
})

health('does not wait for a check beyond 2 s, nor asks it again while it hangs', async () => {
  const { clock, made } = board()
  let asked = 0
  made.watch('slow', { kind: 'ran', required: true }, () => {
    asked += 1
    return new Promise(() => undefined)
  })
  made.watch('quick', ABOUT, async () => [{ name: 'quick', kind: 'feature', status: 'ok', detail: 'fine' }])
  made.start()
  await clock.advance(2_000)
  assert.equal(
    made.components().map(({ name, kind, status }) => [name, kind, status]),
    [
      ['slow', 'ran', 'down'],
      ['quick', 'feature', 'ok'],
    ],
  )
  await clock.advance(60_000)
  assert.is(asked, 1)
  made.close()
})

health('forgets an owner, and ignores an answer that comes after that', async () => {
  const { made } = board()
  const gate = Promise.withResolvers<readonly ComponentHealth[]>()
  made.watch('core-a', ABOUT, () => gate.promise)
  const polled = made.poll()
  made.forget('core-a')
  gate.resolve(one('ok'))
  await polled
  assert.equal(made.components(), [])
  assert.is(made.worst('core-a'), undefined)
})

health('shows what is reported without asking anybody', async () => {
  const { made } = board()
  made.report('esim', [{ name: 'esim', kind: 'feature', status: 'down', detail: 'it failed to load' }])
  await made.poll()
  assert.is(made.worst('esim'), 'down')
  made.watch('esim', ABOUT, async () => [{ name: 'esim', kind: 'feature', status: 'ok', detail: 'running' }])
  await made.poll()
  assert.is(made.worst('esim'), 'ok')
})

health('asks an owner at once that says so, and once more when it says so meanwhile', async () => {
  const { clock, made } = board()
  let looks = 0
  let gate = Promise.resolve()
  made.watch('core-a', ABOUT, async () => {
    looks += 1
    await gate
    return one('ok')
  })
  made.look('core-a')
  assert.is(looks, 0)
  made.start()
  await clock.advance(0)
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  made.look('core-a')
  made.look('core-a')
  made.look('core-a')
  assert.is(looks, 2)
  resolve()
  await clock.advance(0)
  assert.is(looks, 3)
  made.look('nobody')
  made.close()
})

health(
  'tells of each look how all are, of what is reported too, and of nothing once it is closed',
  async () => {
    const clock = fakeClock(1_000_000)
    const told: string[] = []
    const made = createHealthBoard({
      ...{ clock, timers: clock, log: createTestLog([]), isReady: () => true },
      tell: (states) => void told.push([...states].map((each) => each.join(' ')).join(', ')),
    })
    let status: ComponentHealth['status'] = 'ok'
    made.watch('core-a', ABOUT, async () => one(status))
    made.start()
    await clock.advance(0)
    status = 'down'
    made.look('core-a')
    await clock.advance(0)
    made.report('esim', [{ name: 'esim', kind: 'feature', status: 'down', detail: 'it failed to load' }])
    assert.equal(told, ['core-a.mme ok', 'core-a.mme down', 'core-a.mme down, esim down'])
    made.close()
    made.report('esim', [])
    assert.is(told.length, 3)
  },
)

health.run()
