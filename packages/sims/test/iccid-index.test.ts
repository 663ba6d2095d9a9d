import { createSecretKey, randomBytes } from 'node:crypto'
import { createPause, type Imsi, type Reader, type Tx } from '@steeple/contracts'
import { assert, memoryDb, suite } from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { ascii, sealSim } from '../src/secrets/card.ts'
import {
  ALL_INDEXED,
  blockMac,
  ICCID_INDEX,
  iccidBackfill,
  iccidIndex,
  wholeMac,
} from '../src/secrets/iccid-index.ts'
import { hashesByIccidEnd } from '../src/store/iccid-store.ts'
import { SIMS } from '../src/store/sim-store.ts'
import { simRow } from './support/rows.ts'
import { testVault } from './support/vault.ts'

const index = suite('sims/iccid-index')
const NEVER = new AbortController().signal
const NONE = ascii('')

type Db = ReturnType<typeof memoryDb>
const iccidOf = (number: number): string => `8988211${String(number).padStart(12, '0')}`
const hashOf = (number: number): string => number.toString(16).padStart(12, '0')

/** A row as it was stored before there was the index, or with a keyed hash. */
async function addOld(
  db: Db,
  vault: ReturnType<typeof testVault>,
  number: number,
  iccid_mac: Uint8Array | null = null,
): Promise<void> {
  const hash = hashOf(number)
  const iccid = iccidOf(number)
  const card = { ki: new Uint8Array(16), opc: new Uint8Array(16), iccid: ascii(iccid) }
  const codes = { adm1: NONE, pin1: NONE, puk1: NONE, pin2: NONE, puk2: NONE }
  const sealed = sealSim(vault, hash, `99999${String(number).padStart(10, '0')}` as Imsi, {
    ...card,
    ...codes,
  })
  await db.write((tx: Tx) =>
    SIMS.insert(tx, simRow({ hash, iccid_last4: iccid.slice(-4), iccid_mac, ...sealed })),
  )
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
    detail.includes('sims_sim_card (iccid_mac=? AND iccid_last4=?)')
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
  const row = await ICCID_INDEX.find(db, { id: 'block' })
  assert.ok(row !== undefined)
  // What a rotation does: the same value under another key.
  const fresh = testVault()
  const rowId = 'sims_iccid_index/block'
  const key_sealed = fresh.seal(old.open(row.key_sealed, rowId), rowId)
  await db.write((tx) => ICCID_INDEX.put(tx, { ...row, key_sealed, indexed_to: ALL_INDEXED }))
  assert.equal((await iccidIndex(db, fresh).mac())(iccidOf(1)), mac)
  const lost = iccidIndex(db, testVault())
  assert.not.equal((await lost.mac())(iccidOf(1)), mac)
  assert.is(await lost.indexedTo(db), '', 'everything is indexed anew')
  db.close()
})

/** A store of version 0.2.0: so many cards, by the keyed hash of the whole ICCID. */
async function storeOf020(
  vault: ReturnType<typeof testVault>,
  sims: number,
): Promise<{ readonly db: Db; readonly macOf: ReturnType<typeof wholeMac> }> {
  const db = memoryDb(MIGRATIONS)
  const octets = randomBytes(32)
  const macOf = wholeMac(createSecretKey(octets))
  const key_sealed = vault.seal(octets, 'sims_iccid_index/iccid')
  await db.write((tx) => ICCID_INDEX.put(tx, { id: 'iccid', key_sealed, indexed_to: ALL_INDEXED }))
  for (let number = 0; number < sims; number++) await addOld(db, vault, number, macOf(iccidOf(number)))
  return { db, macOf }
}

/** The vault, and how many cards were opened with it. */
function countingVault(): {
  readonly vault: ReturnType<typeof testVault>
  opened(): number
} {
  const vault = testVault()
  let opened = 0
  const open: typeof vault.open = (sealed, rowId) => {
    if (rowId.startsWith('sims_sim/')) opened += 1
    return vault.open(sealed, rowId)
  }
  return { vault: { ...vault, open }, opened: () => opened }
}

index('finds cards of version 0.2.0 without opening one, and indexes them by block', async () => {
  const { vault, opened } = countingVault()
  const { db, macOf } = await storeOf020(vault, 120)
  const of = iccidIndex(db, vault)
  await of.mac()
  assert.is(await of.indexedTo(db), '', 'all is to be indexed anew')
  for (const number of [0, 7, 119]) assert.is(await holder(db, of, number), hashOf(number))
  assert.equal(
    await holdersOf(db, of, [1, 2, 3, 4, 5, 6, 777]),
    [1, 2, 3, 4, 5, 6].map((n) => [n, hashOf(n)]),
  )
  assert.is(await holder(db, of, 777), undefined)
  assert.is(opened(), 0)

  const backfill = iccidBackfill({ db }, vault, of)
  while ((await of.indexedTo(db)) < ALL_INDEXED) await backfill(NEVER)
  const now = await of.mac()
  const rows = await SIMS.select(db, 'order by hash limit 1000')
  assert.ok(rows.every(({ iccid_mac }) => now.isUnder(iccid_mac)))
  assert.is(new Set(rows.map(({ iccid_mac }) => Buffer.from(iccid_mac ?? '').toString('hex'))).size, 1)

  // The version before wrote beside this one to the end.
  await addOld(db, vault, 500, macOf(iccidOf(500)))
  assert.is(await holder(db, of, 500), hashOf(500))
  const cards = [500, 501, 502, 503, 504, 505]
  assert.equal(await holdersOf(db, of, cards), [[500, hashOf(500)]])
  const next = iccidIndex(db, vault)
  await next.mac()
  assert.is(await next.indexedTo(db), '', 'the next start finds what it wrote')
  const again = iccidBackfill({ db }, vault, next)
  while ((await next.indexedTo(db)) < ALL_INDEXED) await again(NEVER)
  const last = iccidIndex(db, vault)
  assert.is(await holder(db, last, 500), hashOf(500))
  assert.is(await ICCID_INDEX.find(db, { id: 'iccid' }), undefined, 'a start that finds nothing ends it')
  db.close()
})

index('gives the cards of one block one hash, and no two ICCIDs the same with their last digits', () => {
  const mac = blockMac(createSecretKey(Buffer.alloc(32, 1)))
  const hex = (iccid: string): string => Buffer.from(mac(iccid)).toString('hex')
  const iccids = Array.from({ length: 3_000 }, (_, i) => iccidOf(i * 7))
  // More than are remembered.
  iccids.push(...Array.from({ length: 700 }, (_, i) => iccidOf((i + 1) * 1_000_000)))
  const blocks = Map.groupBy(iccids, (iccid) => iccid.slice(0, -4))
  assert.is(new Set(iccids.map(hex)).size, blocks.size)
  assert.is(new Set(iccids.map((iccid) => hex(iccid) + iccid.slice(-4))).size, iccids.length)
  const other = blockMac(createSecretKey(Buffer.alloc(32, 2)))
  assert.not.ok(mac.isUnder(other(iccidOf(1))))
  assert.not.ok(
    mac.isUnder(wholeMac(createSecretKey(Buffer.alloc(32, 1)))(iccidOf(1))),
    'nor of a whole ICCID',
  )
})

index('finds last digits whatever version has stored the card, and each once, by an index', async () => {
  const vault = testVault()
  const { db } = await storeOf020(vault, 40)
  const of = iccidIndex(db, vault)
  const mac = await of.mac()
  for (let number = 40; number < 80; number++)
    await addOld(db, vault, number * 10_000, mac(iccidOf(number * 10_000)))
  await addOld(db, vault, 90 * 10_000)
  const found = await hashesByIccidEnd(db, ['0000', '0007', '0039'], 1_000)
  const wanted = [0, 7, 39, ...Array.from({ length: 40 }, (_, i) => (40 + i) * 10_000), 90 * 10_000]
  assert.equal([...found].sort(), wanted.map(hashOf).sort())
  assert.is((await hashesByIccidEnd(db, ['0000'], 5)).length, 5)
  db.close()
})

index.run()
