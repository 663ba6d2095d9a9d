import { mock } from 'node:test'
import { setImmediate as settled } from 'node:timers/promises'
import type { Change, FollowOptions, Gap, Result } from '@steeple/client'
import { assert, suite } from '@steeple/testkit'
import { connected, followChanges, listen, lookAgain, recent } from '../src/api/changes.ts'
import { queryReader } from '../src/api/query-reader.ts'
import { soonAfter } from '../src/api/soon.ts'
import { nextLookMs } from '../src/app/kept-off.ts'

/** What keeps a page true: changes as they come, what is read after them and how often. */
const live = suite('console/live')

/** A stream of events that the test feeds. */
function stream() {
  const waiting: (Change | Gap)[] = []
  let wake: () => void = () => undefined
  let options: FollowOptions = {}
  async function* events(given: FollowOptions = {}) {
    options = given
    while (given.signal?.aborted !== true) {
      yield* waiting.splice(0)
      if (waiting.length > 0) continue
      await new Promise<void>((done) => {
        wake = done
        given.signal?.addEventListener('abort', () => done())
      })
    }
  }
  const say = async (event: Change | Gap): Promise<void> => {
    waiting.push(event)
    wake()
    await settled()
  }
  return { events, say, options: () => options }
}

const change = (id: number, type: string): Change => ({
  ...{ kind: 'change', id, type, at: '2026-11-23T16:00:00.000Z', subject: null, data: {} },
})

live('keeps what was told lately of each type, however many of another came since', async () => {
  const { events, say } = stream()
  const ending = new AbortController()
  const over = followChanges(events, ending.signal)
  await say(change(1, 'health.down'))
  for (let id = 2; id < 100; id += 1) await say(change(id, 'sim.attached'))
  const types = recent.value.map(({ type }) => type)
  assert.ok(types.includes('health.down'))
  assert.ok(types.length < 50, String(types.length))
  assert.is(recent.value[0]?.id, 99)
  ending.abort()
  await over
})

live('has only who shows how the box is look again when a change was refused for it', () => {
  const told: string[] = []
  const stops = ['sim.*', 'health.*', '*'].map((type) => listen([type], () => told.push(type)))
  lookAgain()
  for (const stop of stops) stop()
  assert.equal(told, ['health.*'])
})

live('tells of a change who listens to it, and everybody when changes were missed', async () => {
  const { events, say, options } = stream()
  const ending = new AbortController()
  const over = followChanges(events, ending.signal)
  const told: string[] = []
  const stops = ['sim.*', 'tx.arm', '*', '-'].map((type) =>
    listen([type], (one) => told.push(`${type} ${one?.type}`)),
  )
  await say(change(1, 'sim.suspend'))
  assert.equal(told.splice(0), ['sim.* sim.suspend', '* sim.suspend'])
  await say(change(2, 'tx.arm'))
  assert.equal(told.splice(0), ['tx.arm tx.arm', '* tx.arm'])
  assert.equal(
    recent.value.slice(0, 2).map(({ id }) => id),
    [2, 1],
  )
  const all = ['sim.* undefined', 'tx.arm undefined', '* undefined', '- undefined']
  await say({ kind: 'gap', id: 9, after: 2, until: 9 })
  assert.equal(told.splice(0), all)
  const error = { code: '', message: '', details: [], status: 0, requestId: undefined, retryAfterS: 1 }
  options().onState?.({ state: 'waiting', waitMs: 1, error })
  assert.not(connected.value)
  assert.equal(told, [], 'nothing can be read while nothing answers')
  options().onState?.({ state: 'open' })
  assert.ok(connected.value)
  assert.equal(told.splice(0), all)
  for (const stop of stops) stop()
  await say(change(10, 'sim.suspend'))
  assert.equal(told, [])
  ending.abort()
  await over
})

live('reads once for a burst of events, and on a busy box within a second of each', async () => {
  const { events, say } = stream()
  const ending = new AbortController()
  const over = followChanges(events, ending.signal)
  mock.timers.enable({ apis: ['setTimeout'] })
  try {
    let reads = 0
    const stop = soonAfter(['sim.*'], () => {
      reads += 1
    })
    for (let id = 1; id <= 100; id++) await say(change(id, 'sim.suspend'))
    await say(change(101, 'session.begin'))
    assert.is(reads, 0)
    mock.timers.tick(150)
    assert.is(reads, 1)
    await say(change(102, 'sim.suspend'))
    mock.timers.tick(1_000)
    assert.is(reads, 2)
    await say(change(103, 'session.begin'))
    mock.timers.tick(60_000)
    assert.is(reads, 2, 'what has not changed is not read')
    await say(change(104, 'sim.suspend'))
    stop()
    mock.timers.tick(60_000)
    assert.is(reads, 2, 'nor is what nobody looks at')
  } finally {
    mock.timers.reset()
    ending.abort()
    await over
  }
})

live('shows what has changed alone, and loses no call for another read', async () => {
  const answers: Result<string>[] = []
  const tags: (string | undefined)[] = []
  const shown: string[] = []
  const reader = queryReader<string, string>(
    async (etag) => {
      tags.push(etag)
      return answers.shift() ?? failed(304)
    },
    (result) => shown.push(result.ok ? result.data : `status ${result.error.status}`),
  )
  answers.push(came('one', 'a'), failed(304), failed(503), came('two', undefined))
  for (let n = 0; n < 5; n++) {
    reader.look()
    await settled()
  }
  assert.equal(shown.splice(0), ['one', 'status 503', 'two'])
  assert.equal(tags.splice(0), [undefined, 'a', 'a', undefined, undefined])
  reader.look()
  reader.look()
  reader.look()
  await settled()
  assert.is(tags.length, 2, 'the one that runs, and one behind it')
  answers.push(came('late', 'b'))
  reader.look()
  reader.end()
  await settled()
  assert.equal(shown, [])
})

live('says when what was asked for then has come, and not what was asked for before', async () => {
  const tags = ['first', 'second']
  const asked: (() => void)[] = []
  const shown: string[] = []
  const reader = queryReader<string, string>(
    () => {
      const { promise, resolve } = Promise.withResolvers<Result<string>>()
      const tag = tags.shift() ?? 'more'
      asked.push(() => resolve(came(tag, tag)))
      return promise
    },
    (result) => result.ok && shown.push(result.data),
  )
  reader.look()
  let isThere = false
  const there = reader.looked().then(() => {
    isThere = true
  })
  asked.shift()?.()
  await settled()
  assert.equal([shown, isThere], [['first'], false])
  asked.shift()?.()
  await there
  assert.equal(shown, ['first', 'second'])
})

live(
  'looks at a transmitter seldom, since events tell of it, and less seldom while it does not do as it is told',
  () => {
    const off = nextLookMs({ armed: false, transmitter: 'off' })
    assert.is(nextLookMs({ armed: true, transmitter: 'on' }), off)
    assert.ok(off >= 30_000)
    for (const state of [
      undefined,
      { armed: true, transmitter: 'off' },
      { armed: false, transmitter: 'unconfirmed' },
    ])
      assert.ok(nextLookMs(state) <= 5_000)
  },
)

function came(data: string, etag: string | undefined): Result<string> {
  return {
    ok: true,
    data,
    status: 200,
    etag,
    requestId: undefined,
    isReplayed: false,
    headers: new Headers(),
  }
}

function failed(status: number): Result<string> {
  const error = { code: '', message: '', details: [], status, requestId: undefined, retryAfterS: undefined }
  return { ok: false, error }
}

live.run()
