import type { Database } from '@steeple/store'
import { onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import {
  ALERTS,
  type AlertRow,
  alertsAfter,
  FACTS,
  openAlerts,
  openKey,
  pruneAlerts,
  pruneSilences,
  SILENCES,
  silencesAt,
} from '../src/store/alert-store.ts'
import {
  backlogs,
  DELIVERIES,
  type DeliveryRow,
  dueDeliveries,
  forgetTarget,
  lastErrorOf,
  nextDueMs,
  nextSeq,
  parkedOf,
  pruneParked,
} from '../src/store/delivery-store.ts'
import { allReceivers, RECEIVERS } from '../src/store/receiver-store.ts'

async function opened(box: StoreBox): Promise<ReturnType<Database['scoped']>> {
  const db = await box.open()
  await db.migrate('alerts', MIGRATIONS, [ALERTS, DELIVERIES, FACTS, SILENCES, RECEIVERS])
  return db.scoped('alerts')
}

const alert = (index: number, more: Partial<AlertRow> = {}): AlertRow => ({
  id: `a-${String(index).padStart(16, '0')}`,
  open_key: openKey('r', String(index)),
  rule: 'r',
  severity: 'warning',
  subject: String(index),
  state: 'firing',
  message: 'it is bad',
  value: 1.5,
  threshold: null,
  started_at_ms: 1_000 + Math.floor(index / 2),
  since_ms: 1_000,
  fired_at_ms: 1_000,
  clear_since_ms: null,
  resolved_at_ms: null,
  updated_at_ms: 1_000,
  is_told: 1,
  acked_by: null,
  acked_at_ms: null,
  ...more,
})

const delivery = (seq: number, more: Partial<DeliveryRow> = {}): DeliveryRow => ({
  id: `msg_${seq}`,
  target: 'ops',
  seq,
  subject: 's',
  type: 'alert.firing',
  body: '{}',
  state: 'waiting',
  created_at_ms: seq,
  give_up_from_ms: seq,
  next_at_ms: seq,
  failures: 0,
  last_error: null,
  ...more,
})

onEachStore('alerts/dialects', (test, store) => {
  test('lists alerts newest first, page by page, by state, severity and rule', async () => {
    await using box = await store()
    const db = await opened(box)
    await db.write(async (tx) => {
      for (let index = 0; index < 9; index++) await ALERTS.insert(tx, alert(index))
      await ALERTS.insert(tx, alert(9, { state: 'resolved', open_key: 'over', resolved_at_ms: 5, rule: 'q' }))
      await ALERTS.insert(tx, alert(10, { state: 'pending', severity: 'critical' }))
    })
    const seen: string[] = []
    for (let after: readonly (string | number)[] | undefined; ; ) {
      const page = await alertsAfter(db, {}, 3, after)
      seen.push(...page.map(({ subject }) => subject))
      const last = page.at(-1)
      if (last === undefined) break
      after = [last.started_at_ms, last.id]
    }
    assert.equal(seen, ['10', '9', '8', '7', '6', '5', '4', '3', '2', '1', '0'])
    const subjects = async (filter: Parameters<typeof alertsAfter>[1]): Promise<string> =>
      (await alertsAfter(db, filter, 50, undefined)).map(({ subject }) => subject).join()
    assert.equal(
      [
        await subjects({ state: 'resolved' }),
        await subjects({ state: 'pending', severity: 'critical' }),
        await subjects({ state: 'open', severity: 'critical' }),
        await subjects({ rule: 'q' }),
      ],
      ['9', '10', '10', '9'],
    )
    assert.is((await openAlerts(db)).length, 10)
    assert.equal((await openAlerts(db))[0], alert(0))
    const twice = db.write((tx) => ALERTS.insert(tx, alert(11, { open_key: openKey('r', '3') })))
    assert.ok(
      await twice.then(
        () => false,
        () => true,
      ),
      'of a rule and a subject there is one that is open',
    )
    assert.is(await db.write((tx) => pruneAlerts(tx, 6, 10)), 1)
    assert.is((await alertsAfter(db, {}, 50, undefined)).length, 10)
  })

  test('gives of each subject the oldest message that is due', async () => {
    await using box = await store()
    const db = await opened(box)
    assert.is(await db.write((tx) => nextSeq(tx)), 1)
    await db.write(async (tx) => {
      for (const row of [
        delivery(1, { next_at_ms: 100, failures: 2, last_error: 'no' }),
        delivery(2),
        delivery(3, { subject: 't' }),
        delivery(4, { subject: 'u', state: 'parked' }),
        delivery(5, { subject: 'u' }),
        delivery(6, { target: 'mail' }),
      ])
        await DELIVERIES.insert(tx, row)
    })
    assert.is(await db.write((tx) => nextSeq(tx)), 7)
    const due = async (nowMs: number, limit = 10): Promise<string> =>
      (await dueDeliveries(db, 'ops', nowMs, limit)).map(({ seq }) => seq).join()
    assert.equal([await due(50), await due(100), await due(100, 1), await due(2)], ['3,5', '1,3,5', '1', ''])
    assert.equal([await nextDueMs(db, 'ops'), await nextDueMs(db, 'none')], [2, undefined])
    assert.equal([...(await backlogs(db))].sort(), [
      ['mail', { target: 'mail', waiting: 1, parked: 0, oldestAtMs: 6 }],
      ['ops', { target: 'ops', waiting: 4, parked: 1, oldestAtMs: 1 }],
    ])
    assert.equal([await lastErrorOf(db, 'ops'), await lastErrorOf(db, 'mail')], ['no', undefined])
    assert.equal(
      (await parkedOf(db, 'ops', 5)).map(({ seq }) => seq),
      [4],
    )
    assert.is(await db.write((tx) => pruneParked(tx, 5)), 1)
    assert.is(await db.write((tx) => forgetTarget(tx, 'ops')), 4)
    assert.is((await backlogs(db)).size, 1)
  })

  test('knows the silences that last', async () => {
    await using box = await store()
    const db = await opened(box)
    await db.write(async (tx) => {
      await SILENCES.put(tx, { open_key: 'r/a', until_ms: 10, silenced_by: 'ann' })
      await SILENCES.put(tx, { open_key: 'r/b', until_ms: 20, silenced_by: 'bob' })
      await SILENCES.put(tx, { open_key: 'r/b', until_ms: 30, silenced_by: 'ann' })
      await FACTS.put(tx, { name: 'f', at_ms: 1, subject: 's' })
    })
    assert.equal([...(await silencesAt(db, 10)).keys()], ['r/b'])
    assert.is(await db.write((tx) => pruneSilences(tx, 15)), 1)
    assert.is((await FACTS.find(db, { name: 'f' }))?.subject, 's')
  })

  test('keeps receivers with what is sealed of them', async () => {
    await using box = await store()
    const db = await opened(box)
    const row = {
      name: 'maria',
      kind: 'telegram',
      server: 'https://api.telegram.org/',
      min_severity: 'warning',
      is_resolved_too: 1,
      allow_private: 0,
      link: null,
      settings: '{"chat":"1"}',
      secrets_sealed: Buffer.from([0, 1, 255]),
    } as const
    await db.write((tx) => RECEIVERS.insert(tx, row))
    const [kept] = await allReceivers(db)
    assert.equal({ ...kept, secrets_sealed: Buffer.from(kept?.secrets_sealed ?? []) }, row)
  })
}).run()
