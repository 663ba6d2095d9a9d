import { createPause, type Imsi, type Reader, type Tx } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { iccidBackfill } from '../src/secrets/iccid-backfill.ts'
import { ALL_INDEXED, ICCID_INDEX, iccidIndex } from '../src/secrets/iccid-index.ts'
import { ascii } from '../src/secrets/octets.ts'
import { sealSim } from '../src/secrets/sealing.ts'
import { SIMS } from '../src/store/sim-row.ts'
import { simRow } from './support/rows.ts'
import { testVault } from './support/vault.ts'

const index = suite('sims/iccid-index')
const NEVER = new AbortController().signal
const NONE = ascii('')

type Db = ReturnType<typeof memoryDb>
const iccidOf = (number: number): string => `8988211${String(number).padStart(12, '0')}`
const hashOf = (number: number): string => number.toString(16).padStart(12, '0')

/** A row as it was stored before there was the index. */
async function addOld(db: Db, vault: ReturnType<typeof testVault>, number: number): Promise<void> {
  const hash = hashOf(number)
  const iccid = iccidOf(number)
  const card = { ki: new Uint8Array(16), opc: new Uint8Array(16), iccid: ascii(iccid) }
  const codes = { adm1: NONE, pin1: NONE, puk1: NONE, pin2: NONE, puk2: NONE }
  const sealed = sealSim(vault, hash, `99999${String(number).padStart(10, '0')}` as Imsi, {
    ...card,
    ...codes,
  })
  await db.write((tx: Tx) => SIMS.insert(tx, simRow({ hash, iccid_last4: iccid.slice(-4), ...sealed })))
}

async function holder(
  db: Db,
  of: ReturnType<typeof iccidIndex>,
  number: number,
): Promise<string | undefined> {
  const iccid = iccidOf(number)
  return await of.holder(db, { iccid, mac: (await of.mac())(iccid) }, await of.indexedTo(db))
}

index(
  'finds SIMs from before, indexes them bit by bit, and goes on after a restart where it stopped',
  async () => {
    const db = memoryDb(MIGRATIONS)
    const vault = testVault()
    for (let number = 0; number < 180; number++) await addOld(db, vault, number)
    const before = iccidIndex(db, vault)
    assert.is(await holder(db, before, 7), hashOf(7), 'before anything is indexed')
    assert.is(await holder(db, before, 999), undefined)
    const stop = new AbortController()
    // Its first slice ends it.
    await db.write((tx) => SIMS.find(tx, { hash: hashOf(0) }))
    const first = iccidBackfill({ db }, vault, before)
    const cut = first(stop.signal).catch(() => undefined)
    setImmediate(() => stop.abort())
    await cut
    const reached = await before.indexedTo(db)
    assert.ok(reached > '', 'a slice is kept')
    for (const number of [0, 60, 179]) assert.is(await holder(db, before, number), hashOf(number))

    const after = iccidIndex(db, vault)
    const second = iccidBackfill({ db }, vault, after)
    while ((await after.indexedTo(db)) < ALL_INDEXED) await second(NEVER)
    const bare = await db.get<{ n: number }>('select count(*) as n from sims_sim where iccid_mac is null')
    assert.is(bare?.n, 0)
    for (const number of [0, 60, 179]) assert.is(await holder(db, after, number), hashOf(number))
    const rows = await SIMS.select(db, 'order by hash limit 1000')
    assert.is(rows.length, 180, 'every row still passes its checksum')
    db.close()
  },
)

index('opens no card once all is indexed', async () => {
  const db = memoryDb(MIGRATIONS)
  const vault = testVault()
  for (let number = 0; number < 20; number++) await addOld(db, vault, number)
  const of = iccidIndex(db, vault)
  const backfill = iccidBackfill({ db }, vault, of)
  while ((await of.indexedTo(db)) < ALL_INDEXED) await backfill(NEVER)
  let opened = 0
  const counting = {
    ...vault,
    open: (...args: Parameters<typeof vault.open>) => {
      opened += 1
      return vault.open(...args)
    },
  }
  const again = iccidIndex(db, counting)
  await again.mac()
  opened = 0
  assert.is(await holder(db, again, 3), hashOf(3))
  assert.is(await holder(db, again, 4_003), undefined, 'the same last four digits')
  assert.is(opened, 0)
  db.close()
})

/** Who holds the ICCIDs of these numbers, by number. */
async function holdersOf(
  db: Db,
  of: ReturnType<typeof iccidIndex>,
  numbers: readonly number[],
): Promise<readonly (readonly [number, string])[]> {
  const mac = await of.mac()
  const cards = numbers.map((number) => ({ iccid: iccidOf(number), mac: mac(iccidOf(number)) }))
  const found = await of.holders(db, cards, { indexedTo: await of.indexedTo(db), pause: createPause() })
  return numbers.flatMap((number) => {
    const hash = found.get(iccidOf(number))
    return hash === undefined ? [] : [[number, hash] as const]
  })
}

index(
  'finds who holds many ICCIDs at once, before and after they are indexed, and nobody revoked',
  async () => {
    const db = memoryDb(MIGRATIONS)
    const vault = testVault()
    for (let number = 0; number < 120; number++) await addOld(db, vault, number)
    await db.write((tx) =>
      tx.run("update sims_sim set state = 'revoked' where hash = :hash", { hash: hashOf(5) }),
    )
    // Some are nobody's although their last four digits are a SIM's; the list is longer than what one statement looks for.
    const numbers = Array.from({ length: 133 }, (_, i) => (i % 10 === 0 ? 20_000 + i : i))
    const wanted = numbers
      .filter((number) => number < 120 && number !== 5)
      .map((number) => [number, hashOf(number)])
    const of = iccidIndex(db, vault)
    assert.equal(await holdersOf(db, of, numbers), wanted, 'by their cards')
    await db.write((tx) =>
      tx.run("update sims_sim set state = 'issued' where hash = :hash", { hash: hashOf(5) }),
    )
    const backfill = iccidBackfill({ db }, vault, of)
    while ((await of.indexedTo(db)) < ALL_INDEXED) await backfill(NEVER)
    await db.write((tx) =>
      tx.run("update sims_sim set state = 'revoked' where hash = :hash", { hash: hashOf(5) }),
    )
    assert.equal(await holdersOf(db, of, numbers), wanted, 'by the index')
    assert.equal(await holdersOf(db, of, [3, 5, 20_000]), [[3, hashOf(3)]], 'a few')
    assert.equal(await holdersOf(db, of, []), [])
    db.close()
  },
)

index('looks into the index of ICCIDs for each of many, and at no other row', async () => {
  const db = memoryDb(MIGRATIONS)
  const vault = testVault()
  await addOld(db, vault, 1)
  const of = iccidIndex(db, vault)
  const backfill = iccidBackfill({ db }, vault, of)
  while ((await of.indexedTo(db)) < ALL_INDEXED) await backfill(NEVER)
  let plan: readonly { readonly detail: string }[] = []
  const explaining: Reader = {
    get: (sql, params) => db.get(sql, params),
    all: async (sql, params) => {
      plan = await db.all<{ readonly detail: string }>(`explain query plan ${sql}`, params)
      return await db.all(sql, params)
    },
  }
  const mac = await of.mac()
  const cards = Array.from({ length: 50 }, (_, i) => ({ iccid: iccidOf(i), mac: mac(iccidOf(i)) }))
  const search = { indexedTo: ALL_INDEXED, pause: createPause() }
  assert.equal([...(await of.holders(explaining, cards, search)).values()], [hashOf(1)])
  const looks = plan.filter(({ detail }) => detail.startsWith('S'))
  const isByIccid = ({ detail }: { readonly detail: string }): boolean =>
    detail.includes('sims_sim_iccid_mac (iccid_last4=? AND iccid_mac=?)')
  assert.is(looks.length, 50)
  assert.ok(looks.every(isByIccid), JSON.stringify(looks[0]))
  db.close()
})

index('keeps its key through a rotation of the vault, and makes another when the key is lost', async () => {
  const db = memoryDb(MIGRATIONS)
  const old = testVault()
  await addOld(db, old, 1)
  const of = iccidIndex(db, old)
  const mac = (await of.mac())(iccidOf(1))
  const row = await ICCID_INDEX.find(db, { id: 'iccid' })
  assert.ok(row !== undefined)
  // What a rotation does: the same value under another key.
  const fresh = testVault()
  const rowId = 'sims_iccid_index/iccid'
  const key_sealed = fresh.seal(old.open(row.key_sealed, rowId), rowId)
  await db.write((tx) => ICCID_INDEX.put(tx, { ...row, key_sealed, indexed_to: ALL_INDEXED }))
  assert.equal((await iccidIndex(db, fresh).mac())(iccidOf(1)), mac)
  const lost = iccidIndex(db, testVault())
  assert.not.equal((await lost.mac())(iccidOf(1)), mac)
  assert.is(await lost.indexedTo(db), '', 'everything is indexed anew')
  db.close()
})

index.run()
