import { isServiceError } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { listSims, SIMS, simsOf } from '../src/store/sim-store.ts'
import { simRow } from './support/rows.ts'

const shown = suite('sims/shown')
const HASH = 'bbbbbbbbbbbb'
const OCTETS = {
  imsi_sealed: Uint8Array.of(7, 8),
  secrets_sealed: Uint8Array.of(0, 9, 255),
  iccid_mac: Uint8Array.of(0, 254),
}

shown('lists no SIM whose sealed octets are others than were written', async () => {
  const db = memoryDb(MIGRATIONS)
  const whole = simRow({ hash: HASH, ...OCTETS })
  const without = simRow({ ...OCTETS, hash: 'aaaaaaaaaaaa', iccid_mac: null })
  for (const row of [whole, without]) await db.write((tx) => SIMS.insert(tx, row))
  const reads = [
    () => listSims(db, {}, 10, undefined),
    () => simsOf(db, [HASH]),
    async () => [await SIMS.find(db, { hash: HASH })],
  ]
  for (const read of reads) assert.is((await read())[0]?.hash, HASH)
  for (const column of Object.keys(OCTETS)) {
    await db.write((tx) => SIMS.put(tx, whole))
    const sql = `update sims_sim set ${column} = :octets where hash = :hash`
    await db.write((tx) => tx.run(sql, { octets: Uint8Array.of(1), hash: HASH }))
    for (const read of reads)
      await read().then(
        () => assert.unreachable(column),
        (error) => assert.is(isServiceError(error) && error.code, 'store_corrupt', column),
      )
  }
  assert.is((await SIMS.find(db, { hash: without.hash }))?.hash, without.hash)
  db.close()
})

shown.run()
