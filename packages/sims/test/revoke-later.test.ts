import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { revokeLater } from '../src/states/revoke-later.ts'
import { SIMS, type SimRow } from '../src/store/sim-store.ts'
import { simRow } from './support/rows.ts'

const test = suite('a restore of SIMs')

const MANY = 1_203

function sim(hash: string, own: Partial<SimRow> = {}): SimRow {
  const sealed = Buffer.from(`now ${hash}`)
  return simRow({
    imsi_sealed: sealed,
    secrets_sealed: sealed,
    hss_status: 'synced',
    hss_driver: 'core_a',
    generation: 4,
    batch_id: 'b',
    ...own,
    hash,
  })
}

async function storeOf(rows: readonly SimRow[]): Promise<ReturnType<typeof memoryDb>> {
  const db = memoryDb(MIGRATIONS)
  await db.write(async (tx) => {
    for (const row of rows) await SIMS.insert(tx, row)
  })
  return db
}

/** What is sealed for the store that comes says so; what begins otherwise cannot be opened. */
function reseal(sealed: Uint8Array): Uint8Array | undefined {
  const text = Buffer.from(sealed).toString()
  return text.startsWith('now ') ? Buffer.from(text.replace('now', 'then')) : undefined
}

test('revokes what the HSS holds and the backup knows nothing of, and leaves alone the rest', async () => {
  const present = await storeOf([
    sim('kept'),
    sim('later', { state: 'in-use' }),
    sim('waiting', { hss_status: 'pending', state: 'suspended', suspend_reason: 'operator' }),
    sim('never', { hss_driver: null, hss_status: 'pending' }),
    sim('nowhere', { hss_driver: 'none' }),
    sim('gone', { state: 'revoked' }),
    sim('going', { state: 'revoked', hss_status: 'pending' }),
    sim('damaged', { imsi_sealed: Buffer.from('else') }),
  ])
  const coming = await storeOf([sim('kept'), sim('older')])
  await coming.write((tx) => revokeLater(tx, { db: present, reseal }))
  const rows = await SIMS.select(coming, 'order by hash')
  assert.equal(
    rows.map(({ hash, state }) => `${hash} ${state}`),
    ['going revoked', 'kept issued', 'later revoked', 'older issued', 'waiting revoked'],
  )
  const later = rows.find(({ hash }) => hash === 'later')
  assert.is(later?.hss_status, 'pending')
  assert.is(later?.generation, 5)
  assert.is(later?.batch_id, null)
  assert.is(Buffer.from(later?.imsi_sealed ?? []).toString(), 'then later')
  present.close()
  coming.close()
})

test('does so of any number, and nothing for a backup of another node', async () => {
  const present = await storeOf(Array.from({ length: MANY }, (_, n) => sim(`h${n}`)))
  const coming = await storeOf([sim('h7')])
  await coming.write((tx) => revokeLater(tx, undefined))
  assert.is((await SIMS.select(coming, '')).length, 1)
  await coming.write((tx) => revokeLater(tx, { db: present, reseal }))
  assert.is((await SIMS.select(coming, "where state = 'revoked'")).length, MANY - 1)
  present.close()
  coming.close()
})

test.run()
