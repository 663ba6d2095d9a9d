import { type RunsOn, storeUnavailable } from '@steeple/contracts'
import type { Database } from '@steeple/store'
import { onEachStore } from '@steeple/store/testing'
import { assert, eventually, fakeClock } from '@steeple/testkit'
import { createSubscriptions, type EventHandler, type Subscription } from '../../src/mutation/outbox.ts'
import { inTerm } from '../../src/reconcile/leadership.ts'
import { ReconcileEngine } from '../../src/reconcile/reconcile-engine.ts'
import { createMetricsBoard } from '../../src/telemetry/metrics.ts'
import { createTestLog, type Line } from '../plugins/test-host.ts'
import { benched, type MutationBench, making, mutationBench } from './mutation-fixture.ts'

interface Listener {
  readonly subscription: Subscription
  readonly lines: readonly Line[]
  /** Lets what is due run, after `ms`: until nothing is, or until `isEnough`. */
  settle(ms?: number, isEnough?: () => boolean): Promise<void>
  /** As a crash: nothing is written on the way. */
  die(): Promise<void>
}

interface Wish {
  readonly type?: string
  readonly runs?: RunsOn
}

/** A plugin that listens: the engine, the outbox and the store are the real ones, time is the test's. */
async function listening(
  bench: MutationBench,
  handler: EventHandler,
  { type = 'toy.*', runs = 'leader' }: Wish = {},
): Promise<Listener> {
  const clock = fakeClock()
  const lines: Line[] = []
  const log = createTestLog(lines)
  const metrics = createMetricsBoard(log)
  const engine = new ReconcileEngine({
    clock,
    timers: clock,
    log,
    metrics: metrics.kernel,
    random: () => 0,
  })
  const events = createSubscriptions({ db: bench.db, outbox: bench.outbox, log })
  const retiring = new AbortController()
  const subscription = events.open(
    { plugin: 'ear', type, handler, runs, retiring: retiring.signal },
    engine.enqueue,
  )
  await engine.attach('ear', [subscription.reconciler])
  const settle = async (ms = 0, isEnough = () => engine.isIdle): Promise<void> => {
    await clock.advance(ms)
    await eventually(async () => {
      await clock.advance(0)
      return isEnough()
    })
  }
  await settle()
  return {
    subscription,
    lines,
    settle,
    die: async () => {
      retiring.abort()
      await engine.close()
    },
  }
}

/** A handler that remembers the subjects that it was given. */
function remembering(): { readonly heard: string[]; readonly handler: EventHandler } {
  const heard: string[] = []
  return { heard, handler: async ({ subject }) => void heard.push(subject) }
}

const make = (bench: MutationBench, ...ids: readonly string[]): Promise<unknown> =>
  Promise.all(ids.map((id) => bench.mutations.run(making(id))))

const cursors = (bench: MutationBench): Promise<unknown> =>
  bench.db.all('select plugin, type, event_id from kernel_subscription')

onEachStore('kernel/mutation/subscriptions', (test, store) => {
  const onBench = benched(test, store)
  onBench(
    'tells of what is committed from the subscription on, in order, by type and by noun',
    async (bench) => {
      await make(bench, 'before')
      const all = remembering()
      const none = remembering()
      const ear = await listening(bench, all.handler)
      const deaf = await listening(bench, none.handler, { type: 'toy.mak' })
      await make(bench, 'a')
      await make(bench, 'b', 'c')
      await ear.settle()
      await deaf.settle(70_000)
      assert.equal(all.heard, ['a', 'b', 'c'])
      assert.equal(none.heard, [])
      await ear.die()
      await deaf.die()
    },
  )

  onBench('goes on after a restart where it stood, with what came meanwhile', async (bench, box) => {
    const first = remembering()
    const ear = await listening(bench, first.handler)
    await make(bench, 'a')
    await ear.settle()
    await ear.die()
    await make(bench, 'b', 'c')
    const second = remembering()
    const again = await listening(await mutationBench(box), second.handler)
    assert.equal([first.heard, second.heard], [['a'], ['b', 'c']])
    await again.die()
  })

  onBench(
    'takes what waited within 15 s once the handler can again, however long it could not',
    async (bench) => {
      const heard: string[] = []
      let isFull = true
      const ear = await listening(bench, async ({ subject }) => {
        if (isFull) throw new Error('the disk is full')
        heard.push(subject)
      })
      await make(bench, 'a')
      for (let minute = 0; minute < 20; minute++) await ear.settle(60_000)
      assert.is(ear.subscription.health()[0]?.status, 'degraded')
      isFull = false
      await ear.settle(15_000)
      assert.equal([heard, ear.subscription.health()], [['a'], []])
      await ear.die()
    },
  )

  onBench(
    'has what the store refused under its outage, and under none once it takes writes',
    async (bench) => {
      let isFull = true
      let trouble: string | undefined
      const db: Database = { ...bench.db, writeTrouble: () => trouble }
      const ear = await listening({ ...bench, db }, async () => {
        if (isFull) throw storeUnavailable('the disk is full')
      })
      trouble = 'the disk is full'
      await make(bench, 'a')
      await ear.settle()
      assert.equal(
        ear.subscription.health().map(({ name, incident }) => [name, incident]),
        [['events.toy.*', 'store_gone']],
      )
      trouble = undefined
      assert.equal(ear.subscription.health(), [])
      await ear.settle(15_000)
      assert.is(ear.subscription.health()[0]?.incident, 'store_gone', 'what fails on well may be seen')
      isFull = false
      await ear.settle(15_000)
      assert.equal(ear.subscription.health(), [])
      await ear.die()
    },
  )

  onBench('gives an event again that a crash came over, and none before it', async (bench, box) => {
    const heard: string[] = []
    const ear = await listening(bench, async ({ subject }, signal) => {
      heard.push(subject)
      // It dies in the middle of the second.
      if (heard.length === 2)
        await new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('killed')))
        })
    })
    await make(bench, 'a')
    await make(bench, 'b')
    await make(bench, 'c')
    await ear.settle(0, () => heard.length === 2)
    await ear.die()
    const after = remembering()
    const again = await listening(await mutationBench(box), after.handler)
    assert.equal(
      [heard, after.heard],
      [
        ['a', 'b'],
        ['b', 'c'],
      ],
    )
    await again.die()
  })

  onBench(
    'tries what throws again with back-off, keeps the order, and says so in the health',
    async (bench) => {
      const tried: string[] = []
      let isBroken = true
      const ear = await listening(bench, async ({ subject }) => {
        tried.push(subject)
        if (isBroken && subject === 'b') throw new Error('the partner is away')
      })
      await make(bench, 'a')
      await make(bench, 'b')
      await make(bench, 'c')
      await ear.settle()
      await ear.settle(1_000)
      await ear.settle(2_000)
      assert.equal(tried, ['a', 'b', 'b', 'b'])
      const [ill] = ear.subscription.health()
      assert.equal([ill?.name, ill?.status], ['events.toy.*', 'degraded'])
      assert.match(ill?.detail ?? '', /event 2 was not taken, and those after it wait: the partner is away/)
      isBroken = false
      await ear.settle(4_000)
      assert.equal(tried.slice(4), ['b', 'c'])
      assert.equal(ear.subscription.health(), [])
      await ear.die()
    },
  )

  onBench('leaves a damaged event out and goes on behind it', async (bench, box) => {
    const { heard, handler } = remembering()
    const ear = await listening(bench, handler)
    await ear.die()
    await make(bench, 'a', 'b', 'c')
    await box.raw("update kernel_outbox set data = '[]' where subject = 'b'")
    const again = await listening(bench, handler)
    assert.equal(heard, ['a', 'c'])
    assert.ok(again.lines.some(({ message }) => /damaged/.test(message)))
    await again.die()
  })

  onBench('takes hundreds of events in pieces', async (bench) => {
    const { heard, handler } = remembering()
    const ear = await listening(bench, handler)
    const ids = Array.from({ length: 250 }, (_, index) => `t${index}`)
    await make(bench, ...ids)
    await ear.settle()
    await ear.settle(50)
    await ear.settle(50)
    assert.equal(heard.length, 250)
    assert.equal(new Set(heard).size, 250)
    await ear.die()
  })

  onBench(
    'keeps nothing for each instance, and hears what another instance commits when it is told',
    async (bench, box) => {
      const other = await mutationBench(box)
      const { heard, handler } = remembering()
      const ear = await listening(bench, handler, { runs: 'each' })
      await make(other, 'a')
      await ear.settle()
      assert.equal(heard, [])
      bench.outbox.committed()
      await ear.settle()
      assert.equal(heard, ['a'])
      assert.equal(await cursors(bench), [])
      assert.is(ear.subscription.reconciler.runs, 'each')
      await ear.die()
    },
  )

  onBench('goes on where another instance came to that led meanwhile', async (bench) => {
    const { heard, handler } = remembering()
    const { signal } = new AbortController()
    const request = { plugin: 'ear', type: 'toy.*', handler, runs: 'leader', retiring: signal } as const
    const open = (): Subscription =>
      createSubscriptions({ ...bench, log: createTestLog([]) }).open(request, () => undefined)
    const [first, second] = [open(), open()]
    const led = (by: Subscription, epoch: number): Promise<unknown> =>
      inTerm({ epoch, remainingMs: () => 5_000, signal }, () => by.reconciler.reconcile(['next'], signal))
    await led(first, 1)
    await make(bench, 'a')
    await led(first, 1)
    await make(bench, 'b')
    await led(second, 2)
    await led(first, 3)
    await make(bench, 'c')
    await led(first, 3)
    assert.equal(heard, ['a', 'b', 'c'])
  })

  onBench('forgets how far a removed plugin came', async (bench) => {
    const { heard, handler } = remembering()
    const ear = await listening(bench, handler)
    await make(bench, 'a')
    await ear.settle()
    await ear.die()
    assert.equal(await cursors(bench), [{ plugin: 'ear', type: 'toy.*', event_id: 1 }])
    await createSubscriptions({ ...bench, log: createTestLog([]) }).forget('ear')
    await make(bench, 'b')
    const again = await listening(bench, handler)
    assert.equal(heard, ['a'])
    await again.die()
  })
}).run()
