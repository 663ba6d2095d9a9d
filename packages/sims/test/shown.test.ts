import { isServiceError } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { knownSims, listSims, SIMS, shownSims } from '../src/store/sim-store.ts'
import { simRow } from './support/rows.ts'

const shown = suite('sims/shown')
const HASH = 'bbbbbbbbbbbb'
const OCTETS = {
  imsi_sealed: Uint8Array.of(7, 8),
  secrets_sealed: Uint8Array.of(0, 9, 255),
  iccid_mac: Uint8Array.of(0, 254),
}

shown('shows all of a SIM but what is sealed, and none whose sealed octets are others', async () => {
  const db = memoryDb(MIGRATIONS)
  const whole = simRow({ hash: HASH, ...OCTETS })
  const { imsi_sealed, secrets_sealed, iccid_mac, ...rest } = whole
  const without = simRow({ ...OCTETS, hash: 'aaaaaaaaaaaa', iccid_mac: null })
  for (const row of [whole, without]) await db.write((tx) => SIMS.insert(tx, row))
  const known = knownSims()
  const reads = [
    () => listSims(known, db, {}, 10, undefined),
    () => shownSims(known, db, [HASH]),
    async () => [await known.find(db, { hash: HASH })],
  ]
  for (const read of reads) assert.equal((await read())[0]?.row, rest)
  const often = (await known.find(db, { hash: HASH }))?.row
  for (const read of reads)
    assert.is((await read())[0]?.row, often, 'it is not read anew while it stays as it is')
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
  assert.is((await known.find(db, { hash: without.hash }))?.row.hash, without.hash)
  db.close()
})

shown.run()
