import type { Reconciler, RunsOn } from '@steeple/contracts'
import { assert, fakeClock, suite } from '@steeple/testkit'
import type { Placement, Term } from '../../src/reconcile/leadership.ts'
import { ReconcileEngine } from '../../src/reconcile/reconcile-engine.ts'
import { createScheduler } from '../../src/reconcile/scheduler.ts'
import { createMetricsBoard } from '../../src/telemetry/metrics.ts'

const placement = suite('kernel/cluster/placement')
const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}

/** Places of an instance that is made the leader, and not, by the test. */
function movable(): Placement & { lead(epoch: number | undefined): void } {
  let term: (Term & { end(): void }) | undefined
  const begin = (epoch: number): typeof term => {
    const ended = new AbortController()
    return {
      epoch,
      signal: ended.signal,
      remainingMs: () => (ended.signal.aborted ? -1 : 5_000),
      end: () => ended.abort(),
    }
  }
  return {
    term: () => term,
    runsHere: (runs) => runs === 'each' || (runs === 'leader' && term !== undefined),
    lead: (epoch) => {
      term?.end()
      term = epoch === undefined ? undefined : begin(epoch)
    },
  }
}

placement('periodic work of the leader rests on the others', async () => {
  const clock = fakeClock()
  const at = movable()
  const scheduler = createScheduler({ timers: clock, log: SILENT, placement: at, random: () => 0.5 })
  const ran: string[] = []
  for (const runs of ['leader', 'machine', 'each'] as const)
    scheduler.every(1_000, async () => void ran.push(runs), runs)
  scheduler.start()
  await clock.advance(1_000)
  assert.equal(ran.splice(0), ['each'])
  at.lead(1)
  await clock.advance(1_000)
  assert.equal(ran.splice(0), ['leader', 'each'])
  at.lead(undefined)
  await clock.advance(1_000)
  assert.equal(ran.splice(0), ['each'])
  await scheduler.close()
})

placement('a term begins with a look at all keys, and ends the calls of the one before', async () => {
  const clock = fakeClock()
  const at = movable()
  const sent: string[] = []
  const engine = new ReconcileEngine({
    clock,
    timers: clock,
    log: SILENT,
    metrics: createMetricsBoard(SILENT).kernel,
    placement: at,
    elsewhere: ({ resource, key }) => void sent.push(`${resource}/${key}`),
  })
  const seen: string[] = []
  const aborted: string[] = []
  const reconciler = (resource: string, runs: RunsOn | undefined): Reconciler => ({
    resource,
    ...(runs === undefined ? {} : { runs }),
    resyncMs: 1_000_000,
    keys: async () => ['one'],
    reconcile: async ([key], signal) => {
      seen.push(`${resource}/${key} of ${at.term()?.epoch ?? 'nobody'}`)
      if (key === 'long')
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => {
            aborted.push(resource)
            resolve()
          })
        })
      return new Map()
    },
  })
  await engine.attach('toy', [
    reconciler('mine', undefined),
    reconciler('own', 'each'),
    reconciler('far', 'machine'),
  ])
  engine.begin()
  await clock.advance(10)
  assert.equal(seen.splice(0), ['own/one of nobody'])
  assert.ok(engine.isReady, 'what others do is not waited for')
  for (const resource of ['mine', 'own', 'far']) engine.enqueue(resource, 'two')
  await clock.advance(10)
  assert.equal(seen.splice(0), ['own/two of nobody'])
  assert.equal(sent, ['mine/two', 'far/two'])

  at.lead(1)
  await engine.follow()
  await clock.advance(10)
  assert.equal(seen.splice(0), ['mine/one of 1'])
  engine.enqueue('mine', 'long')
  await clock.advance(10)
  assert.equal(seen.splice(0), ['mine/long of 1'])
  at.lead(undefined)
  await engine.follow()
  assert.equal(aborted, ['mine'])
  at.lead(3)
  await engine.follow()
  await clock.advance(10)
  assert.ok(seen.includes('mine/one of 3'), seen.join(', '))
  at.lead(undefined)
  await engine.close()
})

placement.run()
