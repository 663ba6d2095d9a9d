import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Incident, incidentBoardRef, nodeIdentityRef, storeUnavailable } from '@steeple/contracts'
import { assert, fakeContext, memoryDb, suite, tempDir } from '@steeple/testkit'
import type { AlertsConfig } from '../src/config.ts'
import { alertEngine } from '../src/engine/engine.ts'
import { alertMetrics } from '../src/metrics.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import type { AlertParts } from '../src/parts.ts'
import { lookOf } from '../src/rules/rule.ts'
import { ALERTS, openKey, SILENCES } from '../src/store/alert-store.ts'
import { DELIVERIES } from '../src/store/delivery-store.ts'
import { webhookHealth } from '../src/webhooks/health.ts'
import { targetsOf } from '../src/webhooks/target.ts'
import { SECRET, startReceiver } from './support/receiver.ts'

/** Grave messages need no store. */
const urgent = suite('alerts/urgent')

const CONFIG: AlertsConfig = {
  ...{ enabled: true, rules: [], webhooks: [], disabled_rules: [], interval: '5s', retention: '90d' },
}
const RULE = { name: 'disk_almost_full', severity: 'critical', forMs: 0, clearMs: 0 } as const
const DOWN = { ...RULE, name: 'component_down' } as const

function incident(
  kind: Incident['kind'],
  name: string,
  sinceMs: number,
  some: Partial<Incident> = {},
): Incident {
  const cause = { kind: 'feature', status: 'down', detail: `${name} is ill`, required: false } as const
  return {
    ...{ id: kind, kind, title: kind === 'disk_full' ? 'The disk is full' : 'No core', severity: 'critical' },
    ...{ effects: [], sinceMs, phonesOff: undefined, ...some },
    cause: { ...cause, name, sinceMs, lastOkAtMs: undefined },
  }
}

/** The engine over a store that can be full, with one receiver. */
async function world(subjects: readonly string[] = ['disk']) {
  const folder = await tempDir()
  const secretFile = join(folder.path, 'secret')
  await writeFile(secretFile, SECRET, { mode: 0o600 })
  const receiver = await startReceiver(SECRET, true)
  const db = memoryDb(MIGRATIONS)
  const state = { incidents: [] as readonly Incident[], isFull: false, down: new Set<string>() }
  const services = new Map<string, object>([
    [nodeIdentityRef.id, { nodeId: 'n', name: 'north' }],
    [incidentBoardRef.id, { current: async () => state.incidents }],
  ])
  const fake = fakeContext({ id: 'alerts', config: CONFIG, db, services })
  const { context } = fake
  const observe: typeof context.observe = async (work) => {
    // A full disk is met at the end of what is written.
    return await context.observe(async (tx) => {
      const done = await work(tx)
      if (state.isFull) throw storeUnavailable('the disk is full')
      return done
    })
  }
  const targets = targetsOf([
    { name: 'ops', url: receiver.url, secret_file: secretFile, allow_private: true },
  ])
  const isFull = (): boolean => state.incidents.some(({ kind }) => kind === 'disk_full')
  const levelOf = (subject: string): 'bad' | 'good' =>
    (subject.startsWith('core.') ? state.down.has(subject) : isFull()) ? 'bad' : 'good'
  const parts: AlertParts = {
    context: { ...context, observe },
    metrics: alertMetrics(context.metrics),
    watches: [
      {
        about: 'the disk',
        looks: async () =>
          [RULE, DOWN].map((rule) =>
            lookOf(
              rule,
              new Map(
                subjects
                  .filter((subject) => subject.startsWith('core.') === (rule === DOWN))
                  .map((subject) => [
                    subject,
                    { level: levelOf(subject), value: 0, threshold: 0.03, message: 'The disk is full: 0 %' },
                  ]),
              ),
            ),
          ),
      },
    ],
    names: () => new Set([RULE.name, DOWN.name]),
    unsent: new Map(),
    targets: async () => targets,
  }
  const look = alertEngine(parts)
  return {
    ...{ state, receiver, parts, db, context },
    look: async (afterMs = 0) => {
      await fake.clock.advance(afterMs)
      await look().catch((error: unknown) => assert.match(String(error), /disk is full/))
    },
    told: () => receiver.taken.map(({ payload }) => payload.text),
    [Symbol.asyncDispose]: async () => {
      await fake.dispose()
      await receiver.close()
      db.close()
      await folder.remove()
    },
  }
}

urgent('leave a box whose disk is full, once, with the end', async () => {
  await using box = await world()
  const nowMs = box.context.clock.nowMs()
  const full = incident('disk_full', 'nodes.disk', nowMs, { effects: ['store', 'groups.events.sim.*'] })
  box.state.isFull = true
  box.state.incidents = [full]
  await box.look()
  assert.equal(box.told(), [], 'a store that is busy for a moment wakes nobody')
  await box.look(10_000)
  await box.look(5_000)
  assert.equal(box.told(), ['CRITICAL: The disk is full on north: nodes.disk is ill'])
  // Another fault of that time is told as well, one that was there before and passes is not.
  box.state.incidents = [
    full,
    incident('no_core', 'core.daemons', box.context.clock.nowMs() - 20_000, { phonesOff: 16 }),
  ]
  await box.look(5_000)
  box.state.isFull = false
  box.state.incidents = []
  await box.look(100_000)
  assert.equal(box.told().toSorted().slice(1), [
    'CRITICAL: The disk is full on north: nodes.disk is ill',
    'Over: No core on north, lasted 2 min; 16 phones were off',
    'Over: The disk is full on north, lasted 2 min',
  ])
  const ids = box.receiver.taken.map(({ payload }) => payload.data.id)
  assert.is(new Set(ids).size, 2, 'the end is of the same alert')
  await box.look(60_000)
  assert.is(box.told().length, 4)
})

urgent('are not said again by the store that has come back, which says the end', async () => {
  await using box = await world()
  box.state.incidents = [
    incident('disk_full', 'nodes.disk', box.context.clock.nowMs(), { effects: ['store'] }),
  ]
  box.state.isFull = true
  await box.look(10_000)
  assert.is(box.told().length, 1)
  box.state.isFull = false
  await box.look(5_000)
  assert.equal(
    (await ALERTS.select(box.db, '')).map(({ rule, state, is_told }) => [rule, state, is_told]),
    [['disk_almost_full', 'firing', 1]],
  )
  box.state.incidents = []
  await box.look(5_000)
  assert.is(box.told().length, 1)
  const waiting = await DELIVERIES.select(box.db, '')
  assert.equal(
    waiting.map(({ type }) => type),
    ['alert.resolved'],
  )
})

urgent(
  'of one outage with several alerts are said once, and so is the end, with how long it was',
  async () => {
    await using box = await world(['disk', 'store'])
    const full = incident('disk_full', 'nodes.disk', box.context.clock.nowMs(), { effects: ['store'] })
    box.state.incidents = [full]
    box.state.isFull = true
    await box.look(60_000)
    assert.is(box.told().length, 1)
    box.state.isFull = false
    await box.look(5_000)
    box.state.incidents = []
    await box.look(60_000)
    assert.is(box.told().length, 1)
    const waiting = await DELIVERIES.select(box.db, '')
    assert.equal(
      waiting.map(({ type }) => type),
      ['alert.resolved'],
    )
    assert.match(waiting[0]?.body ?? '', 'Over: The disk is full on north, lasted 2 min')
  },
)

urgent(
  'are told of the next outage of what was ill already, once the end of the first was said',
  async () => {
    for (const between of [
      incident('disk_low', 'nodes.disk', 0, { severity: 'warning' }),
      // One that stays grave.
      incident('part', 'nodes.disk', 0),
    ]) {
      await using box = await world()
      const fill = async (): Promise<void> => {
        const nowMs = box.context.clock.nowMs()
        box.state.incidents = [incident('disk_full', 'nodes.disk', nowMs, { effects: ['store'] })]
        box.state.isFull = true
        await box.look(10_000)
      }
      await fill()
      box.state.isFull = false
      await box.look(5_000)
      box.state.incidents = [{ ...between, sinceMs: box.context.clock.nowMs() }]
      await box.look(5_000)
      assert.equal(
        (await DELIVERIES.select(box.db, '')).map(({ type }) => type),
        ['alert.resolved'],
      )
      await fill()
      assert.is(box.told().length, 2, between.kind)
    }
  },
)

urgent('are of today: what followed from an outage at first may fail later for its own reason', async () => {
  await using box = await world(['disk', 'core.hss'])
  const full = incident('disk_full', 'nodes.disk', box.context.clock.nowMs(), {
    effects: ['store', 'core.hss'],
  })
  box.state.incidents = [full]
  box.state.isFull = true
  await box.look(10_000)
  box.state.isFull = false
  box.state.incidents = [{ ...full, effects: [] }]
  await box.look(5_000)
  box.state.down.add('core.hss')
  await box.look(7_200_000)
  const hss = (await ALERTS.select(box.db, '')).find(({ subject }) => subject === 'core.hss')
  assert.equal([hss?.is_told, hss?.started_at_ms], [1, box.context.clock.nowMs()])
  assert.is((await DELIVERIES.select(box.db, '')).length, 1)
})

urgent(
  'have their end where the stored alert is silenced, and one end where it is not any more',
  async () => {
    for (const [untilMs, ends] of [
      [3_600_000, { sent: 2, stored: 0 }],
      [60_000, { sent: 1, stored: 1 }],
    ] as const) {
      await using box = await world()
      const nowMs = box.context.clock.nowMs()
      await box.db.write((tx) =>
        SILENCES.insert(tx, {
          open_key: openKey(RULE.name, 'disk'),
          until_ms: nowMs + untilMs,
          silenced_by: '{}',
        }),
      )
      box.state.incidents = [incident('disk_full', 'nodes.disk', nowMs, { effects: ['store'] })]
      box.state.isFull = true
      await box.look(10_000)
      box.state.isFull = false
      await box.look(5_000)
      assert.is((await ALERTS.select(box.db, ''))[0]?.is_told, 0)
      await box.look(100_000)
      box.state.incidents = []
      await box.look(5_000)
      const stored = (await DELIVERIES.select(box.db, '')).map(({ type }) => type)
      assert.equal({ sent: box.told().length, stored: stored.length }, ends)
      assert.match(box.told().at(-1) ?? '', ends.sent === 2 ? 'Over: ' : 'CRITICAL: ')
    }
  },
)

urgent('that no receiver takes are tried again, and shown', async () => {
  await using box = await world()
  box.receiver.answer = 500
  box.state.incidents = [
    incident('disk_full', 'nodes.disk', box.context.clock.nowMs(), { effects: ['store'] }),
  ]
  box.state.isFull = true
  await box.look(10_000)
  const [shown] = await webhookHealth(box.parts)
  assert.equal([shown?.status, shown?.detail], ['degraded', 'a message cannot be sent: it answers 500'])
  box.receiver.answer = 204
  await box.look(5_000)
  assert.is(box.told().length, 1, 'it is left alone for a while')
  await box.look(30_000)
  assert.is(box.told().length, 2)
  assert.is((await webhookHealth(box.parts))[0]?.status, 'ok')
})

urgent('say nothing while the store takes writes, and nothing that was said already', async () => {
  await using box = await world()
  box.state.incidents = [incident('disk_full', 'nodes.disk', box.context.clock.nowMs())]
  await box.look(20_000)
  assert.equal(box.told(), [])
  assert.is((await DELIVERIES.select(box.db, '')).length, 1)
  box.state.isFull = true
  box.state.incidents = [{ ...box.state.incidents[0], effects: ['store'] } as Incident]
  await box.look(20_000)
  assert.equal(box.told(), [])
})

urgent.run()
