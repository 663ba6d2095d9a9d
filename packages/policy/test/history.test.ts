import type { TimeSpan, TxInterval } from '@steeple/contracts'
import { onEachStore, type StoreBox } from '@steeple/store/testing'
import { assert } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { type Arm, endArm, policyHistory, startArm, TABLES } from '../src/store.ts'

const END = { by: 'user:ann', reason: 'disarmed' }
const LICENSE = { reference: 'L-7', holder: 'Dorf "e.V."' }

function arm(intervalId: string, armedAtMs: number): Arm {
  const profile = { technology: 'lte', channel: 3350, bandwidth_mhz: 5 } as const
  return { intervalId, profileId: 'mast', profile, country: 'DE', armedAtMs, armedBy: 'user:ann' }
}

async function opened(box: StoreBox) {
  const db = await box.open()
  await db.migrate('policy', MIGRATIONS, TABLES)
  return { own: db.scoped('policy'), close: () => db.close() }
}

onEachStore('the history of the policy', (test, store) => {
  test('gives each interval that reaches into a span once, page by page', async () => {
    await using box = await store()
    const { own: db, close } = await opened(box)
    const history = policyHistory({ db })
    // Some begin in one millisecond, and the ids of these are not in the order in which they came.
    const arms = [arm('d', 10), arm('b', 10), arm('c', 10), arm('a', 20), arm('e', 30)]
    for (const each of arms) {
      await db.write((tx) => startArm(tx, each, LICENSE))
      if (each.intervalId !== 'e')
        await db.write((tx) => endArm(tx, each, { atMs: each.armedAtMs + 5, ...END }))
    }
    const all = async (span: TimeSpan, limit: number): Promise<readonly TxInterval[]> => {
      const found: TxInterval[] = []
      for (let page: readonly TxInterval[] | undefined; page === undefined || page.length === limit; ) {
        page = await history.intervals(span, found.at(-1), limit)
        found.push(...page)
      }
      return found
    }
    const ids = async (fromMs: number, toMs: number, limit: number): Promise<string> =>
      (await all({ fromMs, toMs }, limit)).map(({ id }) => id).join('')
    for (const limit of [1, 2, 3, 100]) assert.is(await ids(0, 100, limit), 'bcdae', `${limit} at a time`)
    assert.is(await ids(16, 30, 2), 'a', 'neither what had ended nor what began later')
    assert.is(await ids(15, 31, 2), 'bcdae', 'what ended in that millisecond, and what is open')
    assert.is(await ids(40, 41, 2), 'e')
    const [first] = await all({ fromMs: 0, toMs: 100 }, 100)
    assert.equal(
      [first?.profile.channel, first?.licenseHolder, first?.endedAtMs, first?.endReason],
      [3350, 'Dorf "e.V."', 15, 'disarmed'],
    )
    const taken = await db.write((tx) => history.takeIntervals(tx, 26, 3))
    assert.equal(
      taken.map(({ id }) => id),
      ['b', 'c', 'd'],
    )
    assert.is(await ids(0, 100, 2), 'ae')
    assert.is((await db.write((tx) => history.takeIntervals(tx, 1_000, 9))).length, 1, 'not the open one')
    await close()
  })
}).run()
