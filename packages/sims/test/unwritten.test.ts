import type { ServiceError } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { transitionSim } from '../src/states/change.ts'
import { SIMS, unsyncedSims } from '../src/store/sim-store.ts'
import { simRow } from './support/rows.ts'

const test = suite('sims/unwritten')
const SEALED = { imsi_sealed: Buffer.of(1), secrets_sealed: Buffer.of(1) }
const HELD = { ...SEALED, hss_status: 'synced', hss_driver: 'docdb_shell' } as const

test('refuses to suspend, resume and revoke a SIM that an HSS holds into which nobody writes', async () => {
  const db = memoryDb(MIGRATIONS)
  const parts = { hss: { driver: () => ({ name: 'none' }) } } as never
  const suspended = { state: 'suspended', previous_state: 'in-use' } as const
  const rows = [
    [{ hash: '0123456789a0', ...suspended, suspend_reason: 'operator' }, { action: 'resume' }],
    [{ hash: '0123456789a1', state: 'in-use' }, { action: 'suspend' }],
    [{ hash: '0123456789a2', state: 'in-use' }, { action: 'revoke' }],
    [
      { hash: '0123456789a3', ...suspended, suspend_reason: 'policy' },
      { action: 'resume', reason: 'policy' },
    ],
  ] as const
  for (const [row, change] of rows) {
    await db.write((tx) => SIMS.insert(tx, simRow({ ...HELD, ...row })))
    const { hash, state } = row
    const error = await db
      .write((tx) => transitionSim(parts, tx as never, hash, change))
      .then(
        () => undefined,
        (reason: ServiceError) => reason,
      )
    assert.is(error?.code, 'sim_state_conflict')
    assert.match(error?.message ?? '', /hss\.driver is none, so the SIM [0-9a-f]+ cannot/)
    assert.is((await SIMS.find(db, { hash }))?.state, state)
  }
  db.close()
})

test('leaves SIMs to the HSS that holds them while nobody writes into it', async () => {
  const db = memoryDb(MIGRATIONS)
  await db.write((tx) => SIMS.insert(tx, simRow({ ...HELD, hash: '0123456789a0' })))
  assert.equal(await unsyncedSims(db, 'none'), [])
  assert.is((await unsyncedSims(db, 'dbctl')).length, 1)
  db.close()
})

test.run()
