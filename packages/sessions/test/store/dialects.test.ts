import type { CollectionConsumer, ImsiHash, UsageLedger } from '@steeple/contracts'
import { collectionConsumerRef, usageLedgerRef } from '@steeple/contracts'
import { onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert, type FakeContext, fakeContext } from '@steeple/testkit'
import { MIGRATIONS } from '../../src/migrations.ts'
import type { SessionsConfig } from '../../src/plugin.ts'
import { plugin } from '../../src/plugin.ts'
import { prune } from '../../src/retention.ts'
import { listSessions } from '../../src/store/session-store.ts'
import { SESSIONS, TABLES } from '../../src/store/tables.ts'
import { ANN, charged, collection, reading, START_MS, sighting } from '../support/world.ts'

const MANY = 500

interface Copy {
  readonly fake: FakeContext<SessionsConfig>
  readonly consumer: CollectionConsumer
  readonly usage: UsageLedger
  readonly db: Awaited<ReturnType<StoreBox['open']>>
}

/** An instance over the store of a box. */
async function copyOver(box: StoreBox): Promise<Copy> {
  const db = await box.open()
  await db.migrate('sessions', MIGRATIONS, TABLES)
  const fake = fakeContext<SessionsConfig>({
    id: 'sessions',
    config: { source_order: ['gtpu', 'cdr'], unattributed_after: '5m' },
    settings: { collector: { enabled: true } },
    db: db.scoped('sessions'),
  })
  await fake.clock.advance(START_MS - fake.clock.nowMs())
  const { services } = await plugin.setup(fake.context)
  const service = <T>(id: string): T => services?.get(id) as T
  return { db, fake, consumer: service(collectionConsumerRef.id), usage: service(usageLedgerRef.id) }
}

function round(number: number, many = MANY): Parameters<CollectionConsumer['take']>[0] {
  const each = Array.from({ length: many }, (_, index) => ({
    imsi: index.toString(16).padStart(12, '0') as ImsiHash,
    address: `10.45.${index >> 8}.${index & 255}`,
  }))
  const toMs = START_MS + number * 15_000
  const sightings = each.map(({ imsi, address }) => sighting({ imsi, address, reference: address }))
  const volumes = each.map(({ address }) =>
    reading(number * 100, toMs, {
      key: { by: 'address', address },
      count: { counter: address, generation: 'g' },
    }),
  )
  return new Map([
    ['mme', collection({ sightings })],
    ['gtpu', collection({ volumes, position: `p${number}` })],
  ])
}

const never = new AbortController().signal

onEachStore('sessions/store/dialects', (test, store) => {
  test('keeps what rounds say: rows of statements of many, and of one', async () => {
    await using box = await store()
    const { consumer, usage, db } = await copyOver(box)
    for (const number of [1, 2, 3]) await consumer.take(round(number), never)
    assert.is(await consumer.position('gtpu'), 'p3')
    const totals = await usage.totals('00000000000a' as ImsiHash, 0, START_MS * 2)
    assert.equal([totals.upBytes, totals.downBytes, totals.isIncomplete], [300, 3_000, false])
    const series = await usage.series('00000000000a' as ImsiHash, 0, START_MS * 2, 'hour')
    assert.equal(series, [{ atMs: START_MS, upBytes: 300, downBytes: 3_000, isIncomplete: false }])
    const page = await listSessions(db, { apn: 'internet', technology: 'lte' }, 2, MANY)
    assert.equal(
      page.map(({ id, is_live: isLive }) => [id, isLive]),
      [
        [MANY - 1, 1],
        [MANY - 2, 1],
      ],
    )
    for (const table of TABLES) {
      const rows = await db.all(`select * from ${table.name}`)
      assert.ok(rows.length > 0 || table.name === 'sessions_held')
    }
    const sessions = await SESSIONS.select(db, '')
    assert.is(sessions.length, MANY)
    // Moved octets alone are written without the rest of the row.
    for (const { volumes } of sessions) assert.equal(JSON.parse(volumes), { gtpu: [300, 3_000, 0] })
  })

  test('lets two instances take rounds in turns, and loses nothing', async () => {
    await using box = await store()
    const one = await copyOver(box)
    const other = await copyOver(box)
    for (let number = 1; number <= 6; number++)
      await (number % 2 === 0 ? one : other).consumer.take(round(number, 50), never)
    const { upBytes } = await one.usage.totals('00000000000a' as ImsiHash, 0, START_MS * 2)
    assert.is(upBytes, 600)
    assert.is((await SESSIONS.select(one.db, '')).length, 50)
    assert.is(await one.consumer.position('gtpu'), 'p6')
  })

  test('closes hours, and removes what is older than it is kept for', async () => {
    await using box = await store()
    const { db, fake, consumer } = await copyOver(box)
    await consumer.take(round(1, 3), never)
    await consumer.take(new Map([['mme', collection({})]]), never)
    const left = async (): Promise<readonly number[]> => {
      const tables = ['session', 'link', 'ledger', 'ledger where is_open = 1']
      const rows = await Promise.all(tables.map((table) => db.all(`select * from sessions_${table}`)))
      return rows.map(({ length }) => length)
    }
    const counts: (readonly number[])[] = [await left()]
    for (const days of [4, 31, 91]) {
      fake.clock.jump(START_MS + days * 86_400_000)
      await prune(fake.context, never)
      counts.push(await left())
    }
    assert.equal(counts, [
      [3, 3, 3, 3],
      [3, 3, 3, 0],
      [0, 0, 3, 0],
      [0, 0, 0, 0],
    ])
  })

  test('forgets all counters of a generation that is over, and all octets that have waited too long', async () => {
    await using box = await store()
    const { consumer, db, fake } = await copyOver(box)
    const seen = (
      generation: string,
      many: number,
      over?: string,
    ): Parameters<CollectionConsumer['take']>[0] => {
      const volumes = Array.from({ length: many }, (_, index) => {
        const address = `11.0.${index >> 8}.${index & 255}`
        const key = { by: 'address', address } as const
        return reading(1, START_MS + 15_000, { key, count: { counter: address, generation } })
      })
      return new Map([
        ['mme', collection({})],
        ['gtpu', collection({ volumes, isWhole: false, ...(over === undefined ? {} : { over }) })],
      ])
    }
    const left = async (): Promise<readonly number[]> => {
      const counters = await db.all('select counter from sessions_counter')
      const held = await db.all('select whose from sessions_held')
      return [counters.length, held.length]
    }
    // More than one statement takes, and not a multiple of it.
    await consumer.take(seen('g1', 1_203), never)
    assert.equal(await left(), [1_203, 1_203])
    await consumer.take(seen('g2', 7, 'g1'), never)
    assert.equal(await left(), [7, 1_203])
    await fake.clock.advance(600_000)
    await consumer.take(new Map([['mme', collection({})]]), never)
    assert.equal(await left(), [7, 0])
  })

  test('sums octets exactly up to the largest number that JSON carries, and stays there', async () => {
    await using box = await store()
    const { consumer, usage } = await copyOver(box)
    const most = Number.MAX_SAFE_INTEGER
    const take = async (octets: readonly number[]): Promise<number> => {
      const volumes = octets.map((up, hour) => {
        const atMs = START_MS - hour * 3_600_000
        return charged(up, atMs, atMs + 1_000, { downBytes: 0 })
      })
      await consumer.take(new Map([['cdr', collection({ volumes })]]), never)
      return (await usage.totals(ANN, 0, START_MS * 2)).upBytes
    }
    assert.is(await take([most - 10, 1, 2]), most - 7)
    assert.is(await take([1, 1, 1]), most - 4)
    assert.is(await take([most, most, most]), most)
  })

  test('sets a late record against what the tap has counted', async () => {
    await using box = await store()
    const { consumer, usage } = await copyOver(box)
    const gtpu = collection({ volumes: [reading(900, START_MS + 600_000)], position: 'p' })
    await consumer.take(
      new Map([
        ['mme', collection({ sightings: [sighting()] })],
        ['gtpu', gtpu],
      ]),
      never,
    )
    const cdr = collection({ volumes: [charged(1_000, START_MS, START_MS + 600_000)], position: 'p' })
    await consumer.take(new Map([['cdr', cdr]]), never)
    const { upBytes, bySource } = await usage.totals(ANN, 0, START_MS * 2)
    assert.equal([upBytes, bySource.get('gtpu')?.upBytes, bySource.get('cdr')?.upBytes], [900, 900, 1_000])
  })
}).run()
