import { type Database, openDatabase, type SideConnection } from '@steeple/store'
import { onPostgres, type StoreBox } from '@steeple/store/testing'
import { assert, eventually, fakeClock } from '@steeple/testkit'
import { thisMachine } from '../../src/clock/clock-keeper.ts'
import { joinElection, LEASE_DDL } from '../../src/reconcile/election.ts'
import type { Leadership } from '../../src/reconcile/leadership.ts'

const nothing = (): void => undefined
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing }

interface Joined {
  readonly leadership: Leadership
  /** Has it look at the lease once more, half a second later. */
  look(): Promise<void>
  close(): Promise<void>
}

function neededSide({ side }: Pick<Database, 'side'>): SideConnection {
  if (side === undefined) throw new Error('PostgreSQL has a side connection')
  return side
}

/** Joins the instances of a store that another one, which is not there, has the lease of. */
async function joined(box: StoreBox, expiresAtMs: string): Promise<Joined> {
  for (const ddl of LEASE_DDL) await box.raw(ddl)
  await box.raw(
    `update kernel_lease set holder = 'other', name = 'a', keys = 'same', epoch = 3, expires_at_ms = ${expiresAtMs}`,
  )
  const db = await openDatabase({ url: box.url, clock: box.clock, log: SILENT })
  let looks = 0
  const counting: SideConnection = {
    ...neededSide(db),
    all: async (sql, params) => {
      const rows = await db.side?.all(sql, params)
      looks += 1
      // The rows are those that were asked for.
      return rows as never
    },
  }
  const clock = fakeClock()
  const leadership = await joinElection({
    db,
    side: counting,
    machine: { ...thisMachine(), upMs: () => clock.monotonicMs() },
    timers: clock,
    log: SILENT,
    name: 'b',
    keys: 'same',
  })
  return {
    leadership,
    look: async () => {
      const before = looks
      await clock.advance(500)
      await eventually(() => assert.ok(looks > before))
    },
    close: async () => {
      await leadership.close()
      await db.close()
    },
  }
}

const NOW = 'cast(extract(epoch from clock_timestamp()) * 1000 as bigint)'

onPostgres('kernel/cluster/election', (test, store) => {
  test('follows one that died also when the clock of the database was set back', async () => {
    await using box = await store()
    const { leadership, look, close } = await joined(box, `${NOW} + 1000000000000`)
    for (let half = 1; half < 30; half++) {
      await look()
      assert.is(leadership.view().role, 'follower')
    }
    await look()
    await eventually(() => assert.is(leadership.view().role, 'leader'))
    assert.is(leadership.view().epoch, 4)
    await close()
  })

  test('has two that join an empty store at the same time, one of which leads', async () => {
    await using box = await store()
    for (const ddl of LEASE_DDL) await box.raw(ddl)
    const both = Promise.withResolvers<void>()
    let looked = 0
    const joining = async (name: string) => {
      const db = await openDatabase({ url: box.url, clock: box.clock, log: SILENT })
      const side: SideConnection = {
        ...neededSide(db),
        all: async (sql, params) => {
          const rows = await db.side?.all(sql, params)
          looked += 1
          // Both have seen that nobody leads before one of them does.
          if (looked === 2) both.resolve()
          await both.promise
          // The rows are those that were asked for.
          return rows as never
        },
      }
      const clock = fakeClock()
      const machine = { ...thisMachine(), upMs: () => clock.monotonicMs() }
      const leadership = await joinElection({
        db,
        side,
        machine,
        timers: clock,
        log: SILENT,
        name,
        keys: 'same',
      })
      return { db, leadership }
    }
    const instances = await Promise.all([joining('a'), joining('b')])
    const views = instances.map(({ leadership }) => leadership.view())
    assert.equal(views.map(({ role }) => role).toSorted(), ['follower', 'leader'])
    assert.is(views[0]?.leader, views[1]?.leader)
    for (const { db, leadership } of instances) {
      await leadership.close()
      await db.close()
    }
  })

  test('takes nothing from one that leads when the clock of the database leaps ahead', async () => {
    await using box = await store()
    const { leadership, look, close } = await joined(box, `${NOW} + 600000`)
    await box.raw('update kernel_lease set expires_at_ms = 0')
    for (let half = 0; half < 8; half++) {
      await look()
      assert.is(leadership.view().role, 'follower')
    }
    await close()
  })
}).run()
