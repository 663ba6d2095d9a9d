import { assert, fakeClock, suite } from '@steeple/testkit'
import type { ContainerState, Engine } from '../../src/engine/engine.ts'
import { countingEngine } from '../../src/engine/engine.ts'

const starts = suite('southbound/start-count')
const { signal } = new AbortController()

function counted() {
  const clock = fakeClock()
  let state: ContainerState | undefined = {
    ...{ id: 'a', isRunning: true, startedAtMs: 1, exitCode: undefined, restartCount: 40 },
  }
  const engine: Engine = {
    inspect: async () => state,
    restart: async () => {
      state = state && { ...state, startedAtMs: (state.startedAtMs ?? 0) + 1, restartCount: 0 }
      return undefined
    },
    logsTail: async () => '',
    logsSince: async () => '',
  }
  const counting = countingEngine(engine, clock)
  return {
    counting,
    look: async (change: Partial<ContainerState> | undefined, laterMs = 10_000) => {
      state = change && state && { ...state, ...change }
      await clock.advance(laterMs)
      await counting.inspect('c-amf', signal)
      return counting.restarted({ amf: 'c-amf' }).get('amf')
    },
  }
}

starts('says how often the engine has started a container again since it was seen first', async () => {
  const { look } = counted()
  assert.is(await look({}), undefined, 'what was before is nobody’s to tell')
  assert.is(await look({ restartCount: 42, startedAtMs: 2 }), undefined)
  assert.is(await look({ restartCount: 45, startedAtMs: 3 }), 'it was restarted 5 times in 1 minute')
  assert.is(await look({}, 90_000), 'it was restarted 5 times in 2 minutes')
  assert.is(await look({}, 60_000), undefined, 'it runs')
})

starts('counts starts that the engine does not, and none that is older than ten minutes', async () => {
  const { look } = counted()
  await look({})
  for (const startedAtMs of [2, 3]) assert.is(await look({ startedAtMs }), undefined)
  assert.is(await look({ startedAtMs: 4, restartCount: 0 }), 'it was restarted 3 times in 1 minute')
  assert.is(await look({ startedAtMs: 5 }, 600_000), undefined)
})

starts('counts no restart of this service, and nothing of a container that is gone', async () => {
  const { counting, look } = counted()
  await look({})
  for (let at = 0; at < 5; at += 1) {
    await counting.restart('c-amf', { stopTimeoutS: 1 }, signal)
    assert.is(await look({}), undefined)
  }
  await look({ restartCount: 3 })
  assert.match(counting.restarted({ amf: 'c-amf' }).get('amf') ?? '', /3 times/)
  assert.is(await look(undefined), undefined)
})

starts.run()
