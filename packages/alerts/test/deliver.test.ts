import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeIdentityRef, type Outcome, type Reconciler } from '@steeple/contracts'
import {
  assert,
  type FakeContext,
  fakeContext,
  type MemoryDb,
  memoryDb,
  suite,
  type TempDir,
  tempDir,
} from '@steeple/testkit'
import type { AlertsConfig } from '../src/config.ts'
import { alertMetrics } from '../src/metrics.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import type { AlertParts } from '../src/parts.ts'
import { sweep } from '../src/plugin.ts'
import type { AlertRow } from '../src/store/alert-store.ts'
import { backlogs, DELIVERIES, type DeliveryRow } from '../src/store/delivery-store.ts'
import { deliveryReconciler, GIVE_UP_MS } from '../src/webhooks/deliver.ts'
import { webhookHealth } from '../src/webhooks/health.ts'
import { tell } from '../src/webhooks/message.ts'
import { targetsOf } from '../src/webhooks/target.ts'
import { type Receiver, SECRET, startReceiver } from './support/receiver.ts'

const deliveries = suite('alerts/deliver')

const CONFIG: AlertsConfig = {
  enabled: true,
  rules: [],
  webhooks: [],
  disabled_rules: [],
  interval: '5s',
  retention: '90d',
}

interface Post {
  readonly fake: FakeContext<AlertsConfig>
  readonly db: MemoryDb
  readonly parts: AlertParts
  readonly receiver: Receiver
  readonly secretFile: string
  readonly reconciler: Reconciler
  alert(subject: string, type?: 'alert.firing' | 'alert.resolved'): Promise<void>
  run(): Promise<Outcome>
  rows(): Promise<readonly DeliveryRow[]>
  [Symbol.asyncDispose](): Promise<void>
}

async function start(webhook: object = {}): Promise<Post> {
  const folder: TempDir = await tempDir()
  const secretFile = join(folder.path, 'secret')
  await writeFile(secretFile, SECRET, { mode: 0o600 })
  const receiver = await startReceiver(SECRET, true)
  const db = memoryDb(MIGRATIONS)
  const identity = { nodeId: 'n', name: 'north' }
  const fake = fakeContext({
    id: 'alerts',
    config: CONFIG,
    db,
    services: new Map<string, object>([[nodeIdentityRef.id, identity]]),
  })
  const targets = targetsOf([
    { name: 'ops', url: receiver.url, secret_file: secretFile, allow_private: true, ...webhook },
  ])
  const { context } = fake
  const parts: AlertParts = {
    context,
    metrics: alertMetrics(context.metrics),
    watches: [],
    names: () => new Set(),
    unsent: new Map(),
    targets: async () => targets,
  }
  const reconciler = deliveryReconciler(parts)
  return {
    fake,
    db,
    parts,
    receiver,
    secretFile,
    reconciler,
    alert: async (subject, type = 'alert.firing') => {
      await db.write((tx) => tell(parts, tx, type, alertOf(subject), Math.floor(context.clock.nowMs())))
    },
    run: async () => (await reconciler.reconcile(['ops'], new AbortController().signal)) as Outcome,
    rows: () => DELIVERIES.select(db, 'order by seq'),
    [Symbol.asyncDispose]: async () => {
      await fake.dispose()
      await receiver.close()
      db.close()
      await folder.remove()
    },
  }
}

function alertOf(subject: string): AlertRow {
  return {
    id: 'a-0000000000000001',
    open_key: `r/${subject}`,
    rule: 'r',
    severity: 'critical',
    subject,
    state: 'firing',
    message: 'it is bad',
    value: 1,
    threshold: 0,
    started_at_ms: 0,
    since_ms: 0,
    fired_at_ms: 0,
    clear_since_ms: null,
    resolved_at_ms: null,
    updated_at_ms: 0,
    is_told: 1,
    acked_by: null,
    acked_at_ms: null,
  }
}

deliveries('sends what waits, in order, and forgets it when it was taken', async () => {
  await using post = await start()
  for (const subject of ['a', 'b', 'c', 'd', 'e', 'f']) {
    await post.alert(subject)
    await post.alert(subject, 'alert.resolved')
  }
  assert.equal(await post.run(), { state: 'converged' })
  assert.is(post.receiver.taken.length, 12)
  for (const subject of ['a', 'f']) {
    const own = post.receiver.taken.filter(({ payload }) => payload.data.subject === subject)
    assert.equal(
      own.map(({ payload }) => payload.type),
      ['alert.firing', 'alert.resolved'],
    )
  }
  // Messages of several subjects are on their way at once: which one comes first is nobody's to say.
  const first = post.receiver.taken.find(({ payload }) => payload.data.subject === 'a')
  assert.is(first?.payload.text, 'CRITICAL: r (a) on north: it is bad')
  assert.equal(first?.payload.data.node, { id: 'n', name: 'north' })
  assert.equal(await post.rows(), [])
})

deliveries(
  'sends a message again with the same id and octets, later each time, and what it asks for',
  async () => {
    await using post = await start()
    await post.alert('a')
    post.receiver.answer = 500
    const waits: number[] = []
    for (let round = 0; round < 12; round++) {
      assert.is((await post.run()).state, 'pending')
      const [row] = await post.rows()
      const waitMs = (row?.next_at_ms ?? 0) - Math.floor(post.fake.clock.nowMs())
      waits.push(waitMs)
      await post.run()
      assert.is(post.receiver.taken.length, round + 1, 'not before its time')
      await post.fake.clock.advance(waitMs)
    }
    waits.forEach((waitMs, index) => {
      const fullMs = Math.min(5_000 * 2 ** index, 3_600_000)
      assert.ok(waitMs <= fullMs && waitMs > 0.79 * fullMs, `${waitMs} of ${fullMs}`)
    })
    assert.is(new Set(post.receiver.taken.map(({ id }) => id)).size, 1)
    assert.is(new Set(post.receiver.taken.map(({ body }) => body)).size, 1)
    const times = post.receiver.taken.map(({ headers }) => headers['webhook-timestamp'])
    assert.is(new Set(times).size, times.length, 'each attempt is signed with its own time')
    post.receiver.answer = 503
    post.receiver.headers = { 'retry-after': '7200' }
    await post.run()
    const [row] = await post.rows()
    assert.is((row?.next_at_ms ?? 0) - Math.floor(post.fake.clock.nowMs()), 3_600_000, 'an hour at most')
    post.receiver.answer = 200
    await post.fake.clock.advance(3_600_000)
    assert.equal(await post.run(), { state: 'converged' })
  },
)

deliveries('lets nothing of a subject by before what came earlier, and others do not wait', async () => {
  await using post = await start()
  await post.alert('a')
  post.receiver.answer = 500
  await post.run()
  post.receiver.answer = 200
  await post.alert('a', 'alert.resolved')
  await post.alert('b')
  await post.run()
  assert.equal(
    post.receiver.taken.slice(1).map(({ payload }) => payload.data.subject),
    ['b'],
  )
  await post.fake.clock.advance(5_000)
  await post.run()
  assert.equal(
    post.receiver.taken.slice(2).map(({ payload }) => [payload.data.subject, payload.type]),
    [
      ['a', 'alert.firing'],
      ['a', 'alert.resolved'],
    ],
  )
})

deliveries('parks what nobody takes for a day, says so, and sends on what comes behind it', async () => {
  await using post = await start()
  await post.alert('a')
  await post.alert('a', 'alert.resolved')
  post.receiver.answer = 500
  await post.run()
  await post.fake.clock.advance(GIVE_UP_MS - 1)
  await post.run()
  assert.equal(
    (await post.rows()).map(({ state }) => state),
    ['waiting', 'waiting'],
  )
  const late = await webhookHealth(post.parts)
  assert.match(late[0]?.detail ?? '', /^2 messages wait: it answers 500$/)
  await post.fake.clock.advance(3_600_000)
  await post.run()
  assert.equal(
    (await post.rows()).map(({ state, type }) => [state, type]),
    [
      ['parked', 'alert.firing'],
      ['waiting', 'alert.resolved'],
    ],
  )
  const [health] = await webhookHealth(post.parts)
  assert.is(health?.status, 'degraded')
  assert.match(
    health?.detail ?? '',
    /^1 message was not taken for a day and is parked .*svc alert test ops --resend/,
  )
  post.receiver.answer = 200
  await post.run()
  assert.is(post.receiver.taken.at(-1)?.payload.type, 'alert.resolved')
  assert.equal((await backlogs(post.db)).get('ops')?.waiting, 0)
  assert.equal([post.fake.metrics.value('svc_alerts_webhook_messages', { state: 'parked' })], [1])
  await post.fake.clock.advance(8 * GIVE_UP_MS)
  await sweep(post.parts, new AbortController().signal)
  assert.equal(await post.rows(), [])
})

deliveries('tells what keeps it from sending, without the secret or the path of a URL', async () => {
  await using post = await start()
  await post.alert('a')
  await writeFile(post.secretFile, 'whsec_tooshort')
  await post.run()
  const [row] = await post.rows()
  assert.match(row?.last_error ?? '', /is no secret of Standard Webhooks/)
  assert.not.ok(JSON.stringify([post.fake.logs, row]).includes('tooshort'))
  assert.is(post.receiver.taken.length, 0)
  await writeFile(post.secretFile, SECRET)
  await post.fake.clock.advance(5_000)
  await post.run()
  assert.is(post.receiver.taken.length, 1)
})

deliveries('keeps what is under way when it is told to end', async () => {
  await using post = await start()
  await post.alert('a')
  post.receiver.answer = 'hang'
  const ends = new AbortController()
  const running = post.reconciler.reconcile(['ops'], ends.signal)
  ends.abort()
  await running
  const [row] = await post.rows()
  assert.equal([row?.failures, row?.state], [0, 'waiting'])
})

deliveries('forgets what was meant for a receiver that is none any more', async () => {
  await using post = await start()
  await post.alert('a')
  await post.fake.clock.advance(1)
  await sweep({ ...post.parts, targets: async () => [] }, new AbortController().signal)
  assert.equal(await post.rows(), [])
})

deliveries.run()
