import { assert, suite } from '@steeple/testkit'
import { es2Metrics } from '../src/es2/core.ts'
import { type PostJson, sweepEs2, tellProgress } from '../src/es2/service.ts'
import { noteStep, ORDERS, PROGRESS } from '../src/store/es2-store.ts'
import { CONFIG, type World, world } from './support/world.ts'

const notifier = suite('esim-smdp/es2-notifier')
const NEVER = new AbortController().signal
const HOUR_MS = 3_600_000

interface Bench {
  readonly all: World
  readonly sent: readonly Readonly<Record<string, unknown>>[]
  /** What the order system answers from now on. */
  status: number
  note(): Promise<void>
  tell(): ReturnType<typeof tellProgress>
  sweep(): Promise<void>
  waiting(): Promise<number>
}

/** One order, and an order system that is away. */
async function bench(): Promise<Bench> {
  const es2 = { ...CONFIG.es2, notify_url: 'https://bss.example.org' }
  const all = await world({ config: { es2 } })
  const { token } = await all.issue(1)
  const { db } = all.parts.context
  const order = { token, owner: 'o', profile_type: 'default', created_at_ms: all.clock.nowMs() }
  await db.write((tx) => ORDERS.insert(tx, order))
  const metrics = es2Metrics(all.parts.context.metrics)
  const sent: Readonly<Record<string, unknown>>[] = []
  const post: PostJson = async (body) => {
    sent.push(body as Readonly<Record<string, unknown>>)
    return one.status
  }
  const result = Uint8Array.of(0xbf, 0x37, 0)
  const one: Bench = {
    all,
    sent,
    status: 500,
    note: () =>
      db.write((tx) => noteStep(all.parts, tx, { token, eidHash: null, point: 'installation', result })),
    tell: () => tellProgress(all.parts, metrics, post, NEVER),
    sweep: () => sweepEs2(all.parts, metrics),
    waiting: async () => (await PROGRESS.select(db, '')).length,
  }
  return one
}

notifier('waits longer after each failure, and leaves out what it may have failed at', async () => {
  const one = await bench()
  await one.note()
  assert.equal(await one.tell(), { why: 'HTTP 500' })
  assert.is(await one.tell(), undefined)
  assert.is(one.sent.length, 1, 'it is not due')
  for (let failures = 1; failures < 4; failures += 1) {
    await one.all.clock.advance(5_000 * 2 ** (failures - 1))
    await one.tell()
  }
  assert.equal(
    one.sent.map((body) => 'resultData' in body),
    [true, true, false, false],
  )
  const calls = one.sent.map(({ header }) => JSON.stringify(header))
  assert.is(new Set(calls).size, 1, 'the same call each time')
  one.status = 204
  await one.all.clock.advance(HOUR_MS)
  assert.is(await one.tell(), 'told')
  assert.is(await one.waiting(), 0)
  await one.all.close()
})

notifier('gives up after a week', async () => {
  const one = await bench()
  await one.note()
  await one.tell()
  await one.all.clock.advance(6 * 24 * HOUR_MS)
  await one.sweep()
  assert.is(await one.waiting(), 1)
  await one.all.clock.advance(25 * HOUR_MS)
  await one.sweep()
  assert.is(await one.waiting(), 0)
  assert.is(one.all.fake.metrics.value('svc_esim_smdp_progress_total', { outcome: 'given_up' }), 1)
  await one.all.close()
})

notifier('notes nothing of codes that nobody has ordered, nor while nobody is to be told', async () => {
  const one = await bench()
  const { db } = one.all.parts.context
  const { token } = await one.all.issue(2)
  await db.write((tx) => noteStep(one.all.parts, tx, { token, eidHash: null, point: 'download' }))
  assert.is(await one.waiting(), 0)
  const silent = { ...one.all.parts, context: { ...one.all.parts.context, config: CONFIG } }
  const ordered = (await ORDERS.select(db, ''))[0]?.token ?? ''
  await db.write((tx) => noteStep(silent, tx, { token: ordered, eidHash: null, point: 'download' }))
  assert.is(await one.waiting(), 0)
  await one.note()
  assert.is(await one.waiting(), 1)
  await one.all.close()
})

notifier.run()
