import { assert, suite } from '@steeple/testkit'
import { downloadProfile } from '@steeple/virtual-euicc'
import { removeCodesOf } from '../src/plugin.ts'
import { eidOf } from './support/pki.ts'
import { type TestCode, type World, world } from './support/world.ts'

const forget = suite('esim-smdp/forget')

/** The tables in which a code, or the eUICC that came for it, has rows. */
const TABLES = ['code', 'held', 'notice', 'session', 'euicc'] as const

async function textOf(all: World): Promise<string> {
  const { db } = all.fake.context
  const rows = await Promise.all(TABLES.map((name) => db.all(`select * from esim_smdp_${name}`)))
  return JSON.stringify(rows)
}
async function take(all: World, phone: number, { activationCode }: TestCode): Promise<void> {
  await downloadProfile({ euicc: all.euicc(phone), activationCode, transport: all.transport })
}
async function euiccs(all: World): Promise<readonly string[]> {
  const rows = await all.fake.context.db.all<{ readonly eid_last4: string }>(
    'select eid_last4 from esim_smdp_euicc order by eid_last4',
  )
  return rows.map(({ eid_last4 }) => eid_last4)
}

forget('leaves nothing of a code, and no eUICC that has nothing else', async () => {
  await using all = await world()
  const [one, two, other] = [await all.issue(1), await all.issue(2), await all.issue(3)]
  await take(all, 7, one)
  await take(all, 7, two)
  await take(all, 8, other)
  const both = [7, 8].map((phone) => eidOf(phone).slice(-4)).toSorted()
  assert.equal(await euiccs(all), both)
  const { db } = all.fake.context
  assert.is(await db.write((tx) => removeCodesOf(tx, one.hash)), 1)
  const left = await textOf(all)
  assert.not.ok(left.includes(one.token) || left.includes(one.hash))
  assert.ok(left.includes(two.token) && left.includes(other.token))
  assert.equal(await euiccs(all), both, 'it has another profile')
  assert.is(await db.write((tx) => removeCodesOf(tx, two.hash)), 1)
  assert.not.ok((await textOf(all)).includes(two.token))
  assert.equal(await euiccs(all), [eidOf(8).slice(-4)])
  assert.is(await db.write((tx) => removeCodesOf(tx, two.hash)), 0)
})

forget.run()
