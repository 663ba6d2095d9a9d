import { type HssDriver, hssDriverRef, type Imsi } from '@steeple/contracts'
import { openDatabase } from '@steeple/store'
import { failure, onPostgres } from '@steeple/store/testing'
import { assert, eventually } from '@steeple/testkit'
import { thisMachine } from '../../src/clock/clock-keeper.ts'
import { systemTimers, type Timers } from '../../src/clock/deadline.ts'
import { createServiceContainer } from '../../src/plugins/service-container.ts'
import { epochReader, termGuard } from '../../src/reconcile/cluster.ts'
import { joinElection, LEASE_DDL } from '../../src/reconcile/election.ts'
import { inTerm, type Leadership, termSignal } from '../../src/reconcile/leadership.ts'

const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
/** Timers of a process that never gets to run again. */
const FROZEN: Timers = { setTimeout: () => undefined, clearTimeout: () => undefined }
const ADD = 'insert into toy_item (id) values (:id)'

onPostgres('kernel/cluster/fence', (test, store) => {
  test('what is done in the name of a term ends with it', async () => {
    await using box = await store()
    for (const ddl of [...LEASE_DDL, 'create table toy_item (id text)']) await box.raw(ddl)
    const db = await openDatabase({
      url: box.url,
      clock: box.clock,
      log: SILENT,
      guard: termGuard(epochReader()),
    })
    const { side } = db
    if (side === undefined) throw new Error('PostgreSQL has a side connection')
    // The time of the first stands still, as that of a machine that was paused: nothing but the store tells it.
    let upMs = 1_000_000
    const machine = { ...thisMachine(), upMs: () => upMs }
    const parts = { db, side, log: SILENT, keys: 'same' }
    const first = await joinElection({ ...parts, machine, timers: FROZEN, name: 'a' })
    const term = first.term()
    if (term === undefined) throw new Error('the first leads')
    const add = (id: string): Promise<number> => inTerm(term, () => db.transact((tx) => tx.run(ADD, { id })))
    await add('of the term')

    await box.raw('update kernel_lease set expires_at_ms = 0')
    const second: Leadership = await joinElection({
      ...parts,
      machine: thisMachine(),
      timers: systemTimers(),
      name: 'b',
    })
    assert.is(second.term()?.epoch, 2)
    assert.ok(term.remainingMs() > 0, 'the first has not noticed yet')
    assert.is((await failure(() => add('of a term that is over')))?.code, 'not_ready')
    await db.transact((tx) => tx.run(ADD, { id: 'of nobody’s term' }))
    assert.equal(await db.all('select id from toy_item order by id'), [
      { id: 'of nobody’s term' },
      { id: 'of the term' },
    ])

    const pushed: string[] = []
    let seen: AbortSignal | undefined
    const driver: Pick<HssDriver, 'name' | 'remove'> = {
      name: 'toy',
      remove: async (imsis, signal) => {
        seen = signal
        pushed.push(...imsis)
        return new Map()
      },
    }
    const services = createServiceContainer()
    services.set('toy', new Map([[hssDriverRef.id, driver]]))
    const remove = (imsi: string): Promise<unknown> =>
      inTerm(term, () => services.use(hssDriverRef).remove([imsi as Imsi], new AbortController().signal))
    await remove('while it lasts')
    assert.is(seen?.aborted, false)
    const given = termSignal(term, new AbortController().signal)
    upMs += 3_500
    assert.is((await failure(() => remove('shortly before its end')))?.code, 'not_ready')
    assert.is(seen?.aborted, false, 'what has begun may still end')
    upMs += 1_000
    assert.is((await failure(() => remove('after its end')))?.code, 'not_ready')
    assert.equal(pushed, ['while it lasts'])
    // No timer has run: the signals know all the same.
    assert.is(seen?.aborted, true)
    assert.is((await failure(async () => given.throwIfAborted()))?.code, 'not_ready')
    assert.is(first.term(), undefined)
    await eventually(() => assert.is(first.view().role, 'follower'))
    await second.close()
    await db.close()
  })
}).run()
