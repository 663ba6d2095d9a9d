import { existsSync } from 'node:fs'
import { mkdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isServiceError } from '@steeple/contracts'
import { imsiHash, luhnCheckDigit, opcFrom, parseImsi } from '@steeple/telecom'
import {
  assert,
  fakeClock,
  loadTestbed,
  memoryDb,
  pluginFrom,
  suite,
  type Testbed,
  tempDir,
} from '@steeple/testkit'
import fc from 'fast-check'
import { batchFiles, removeBatch, writeNewBatch } from '../src/batch/batch-files.ts'
import { sweepBatches } from '../src/batch/batch-sweep.ts'
import { cardsCsv } from '../src/batch/cards-csv.ts'
import { drawBatchKey, openCards, sealCards } from '../src/batch/cards-file.ts'
import { drawCard, drawDigits, drawImsi } from '../src/issue/draw.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { unsealBatch } from '../src/offline.ts'
import { plugin } from '../src/plugin.ts'
import { CARD_FIELDS, packCard, unpackCard } from '../src/secrets/card.ts'
import { hexAscii, octetsFromHex } from '../src/secrets/octets.ts'
import { sealSim } from '../src/secrets/sealing.ts'
import { BATCHES, batchesWithoutFiles } from '../src/store/batch-store.ts'
import { SIMS } from '../src/store/sim-row.ts'
import { bodyOf, codeOf, type IssueAnswer } from './support/answers.ts'
import { simRow } from './support/rows.ts'
import { testVault } from './support/vault.ts'

const batch = suite('sims/batch')
const LAB = { mcc: '999', mnc: '99' }
const text = (octets: Uint8Array): string => Buffer.from(octets).toString('ascii')

batch('draws cards with a whole ICCID, codes of digits and an OPc of the OP that was given', () => {
  const op = new Uint8Array(16).fill(7)
  const card = drawCard(LAB, op)
  assert.equal(card.opc, opcFrom(card.ki, op))
  const iccid = text(card.iccid)
  assert.match(iccid, /^89999099\d{11}$/)
  assert.is(luhnCheckDigit(iccid.slice(0, -1)), Number(iccid.at(-1)))
  assert.equal(
    [card.adm1, card.pin1, card.puk1, card.pin2, card.puk2].map(
      (code) => /^\d+$/.test(text(code)) && code.length,
    ),
    [8, 4, 8, 4, 8],
  )
  assert.is.not(text(hexAscii(drawCard(LAB, undefined).ki)), text(hexAscii(card.ki)))
})

batch('draws every digit about equally often and IMSIs of full length', () => {
  const counts = new Array<number>(10).fill(0)
  for (const char of text(drawDigits(100_000))) counts[Number(char)]! += 1
  // Six standard deviations of 10,000 ± 95.
  assert.ok(
    counts.every((count) => Math.abs(count - 10_000) < 570),
    counts.join(),
  )
  assert.match(drawImsi(LAB), /^99999\d{10}$/)
  assert.match(drawImsi({ mcc: '310', mnc: '410' }), /^310410\d{9}$/)
})

batch('packs and unpacks a card without loss, and refuses a cut one', () => {
  const field = fc.uint8Array({ maxLength: 40 })
  fc.assert(
    fc.property(fc.tuple(field, field, field, field, field, field, field, field), (fields) => {
      const [ki, opc, iccid, adm1, pin1, puk1, pin2, puk2] = fields
      const card = { ki, opc, iccid, adm1, pin1, puk1, pin2, puk2 }
      const packed = packCard(card)
      const back = unpackCard(packed)
      for (const name of CARD_FIELDS) assert.equal([...back[name]], [...card[name]])
      assert.throws(() => unpackCard(packed.slice(0, -1)), isServiceError)
    }),
  )
})

batch('writes octets as hex and back without a string', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (octets) => {
      assert.is(text(hexAscii(octets)), Buffer.from(octets).toString('hex'))
      assert.equal([...octetsFromHex(hexAscii(octets))!], [...octets])
    }),
  )
  for (const bad of ['0', 'zz', '0 ']) assert.is(octetsFromHex(Buffer.from(bad)), undefined)
})

batch('opens a cards file with its own key and name alone, and not when a byte of it differs', () => {
  const cards = [{ imsi: parseImsi('999990000000001')!, card: drawCard(LAB, undefined) }]
  const csv = cardsCsv(cards)
  const key = drawBatchKey()
  const sealed = sealCards(csv, key, 'b-1')
  assert.is(text(openCards(sealed, key, 'b-1')), text(csv))
  assert.throws(() => openCards(sealed, drawBatchKey(), 'b-1'), isServiceError)
  assert.throws(() => openCards(sealed, key, 'b-2'), isServiceError)
  for (let at = 0; at < sealed.length; at++) {
    const changed = Uint8Array.from(sealed)
    changed[at]! ^= 1
    assert.throws(() => openCards(changed, key, 'b-1'), isServiceError, `octet ${at}`)
  }
})

batch(
  'unseals a batch in every format, from its file or from its rows, and says what is missing',
  async () => {
    const dir = await tempDir()
    const db = memoryDb(MIGRATIONS)
    const vault = testVault()
    const card = drawCard(LAB, undefined)
    const imsi = parseImsi('999990000000001')!
    const key = drawBatchKey()
    const row = {
      id: 'b-1',
      created_at_ms: 0,
      sims: 1,
      profile: 'p',
      plmn: '999-99',
      label: 'a,b',
      key_sealed: vault.seal(key, 'sims_batch/b-1'),
    }
    const hash = imsiHash(imsi)
    await db.write((tx) => BATCHES.insert(tx, row))
    await db.write((tx) =>
      SIMS.insert(tx, simRow({ hash, batch_id: 'b-1', ...sealSim(vault, hash, imsi, card) })),
    )
    const manifest = { batch_id: 'b-1', created_at: '', plmn: '999-99', profile: 'p', label: null, sims: [] }
    const csv = cardsCsv([{ imsi, card }])
    writeNewBatch(dir.path, 'b-1', batchFiles(manifest, sealCards(csv, key, 'b-1')))
    const place = { reader: db, vault, dataDir: dir.path }
    assert.is(await unsealBatch(place, 'b-1', 'csv'), text(csv))
    const keys = [text(hexAscii(card.ki)), text(hexAscii(card.opc))]
    const pysim = (await unsealBatch(place, 'b-1', 'pysim')).split('\n')
    assert.is(pysim[0], 'name,iccid,mcc,mnc,imsi,smsp,ki,opc,adm1')
    assert.is(pysim[1], `a_b,${text(card.iccid)},999,99,999990000000001,,${keys.join()},${text(card.adm1)}`)
    const [json] = JSON.parse(await unsealBatch(place, 'b-1', 'json'))
    assert.equal([json.ki, json.opc, json.puk2], [...keys, text(card.puk2)])
    await unsealBatch(place, 'b-2', 'csv').then(assert.unreachable, (error: Error) =>
      assert.match(error.message, /b-2/),
    )
    await writeFile(join(dir.path, 'batches/b-1/cards.csv.sealed'), 'damaged')
    assert.is(await unsealBatch(place, 'b-1', 'csv'), text(csv))
    await removeBatch(dir.path, 'b-1')
    assert.is(await unsealBatch(place, 'b-1', 'csv'), text(csv))
    await db.write((tx) => SIMS.remove(tx, { hash }))
    await unsealBatch(place, 'b-1', 'csv').then(assert.unreachable, (error) =>
      assert.is(isServiceError(error) && error.code, 'store_corrupt'),
    )
    db.close()
    await dir.remove()
  },
)

batch('sweeps directories that the store does not know, and tells which batches have none', async () => {
  const dir = await tempDir()
  const db = memoryDb(MIGRATIONS)
  const clock = fakeClock()
  const make = async (name: string, ageMs: number): Promise<string> => {
    const path = join(dir.path, 'batches', name)
    await mkdir(path, { recursive: true })
    await writeFile(join(path, 'cards.csv.sealed'), 'x')
    const at = (clock.nowMs() - ageMs) / 1000
    await utimes(path, at, at)
    return path
  }
  const orphan = await make('b-orphan', 3_600_000)
  const young = await make('b-young', 1_000)
  const known = await make('b-known', 3_600_000)
  const other = await make('notes', 3_600_000)
  for (const id of ['b-gone', 'b-known'])
    await db.write((tx) =>
      tx.run(
        "insert into sims_batch (id, created_at_ms, sims, profile, plmn, label, key_sealed, files_at_ms, row_sum) values (:id, 0, 0, '', '', null, :k, 1, 0)",
        { id, k: new Uint8Array(1) },
      ),
    )
  // The checksums of the rows are wrong: damage is never taken for absence.
  assert.equal(await sweepBatches(dir.path, db, clock), { removed: ['b-orphan'], missing: ['b-gone'] })
  assert.equal(await batchesWithoutFiles(db, 9), ['b-gone'])
  assert.equal([orphan, known, young, other].map(existsSync), [false, true, true, true])
  db.close()
  await dir.remove()
})

batch(
  'leaves no file behind when the batch is refused, and takes the OP from its file',
  async () => {
    const { startTestbed } = await loadTestbed()
    const dir = await tempDir()
    const opFile = join(dir.path, 'op')
    await writeFile(opFile, 'cdc202d5123e20f62b6d676ac72cb318\n')
    const bed: Testbed = await startTestbed({
      plugins: [await pluginFrom(import.meta.url, plugin)],
      settings: { hss: { driver: 'none' } },
      config: { sims: { op_file: opFile, max_sims: 3 } },
    })
    try {
      const { output_dir, batch_id, first } = bodyOf<IssueAnswer>(
        await bed.request('POST', '/v1/sims', { body: { count: 2, imsi: undefined } }),
        201,
      )
      const manifest = JSON.parse(await readFile(join(output_dir, 'manifest.json'), 'utf8'))
      assert.is(manifest.batch_id, batch_id)
      assert.is(
        codeOf(await bed.request('POST', '/v1/sims', { body: { count: 2 } }), 409),
        'capacity_exceeded',
      )
      const refused = await bed.request('POST', '/v1/sims', {
        body: { replaces: first.imsi_sha256_12, count: 1 },
      })
      assert.is(refused.status, 201)
      const again = await bed.request('POST', '/v1/sims', { body: { imsi: '999990000000001' } })
      assert.is(codeOf(again, 409), 'capacity_exceeded')
      assert.is((await bed.request('GET', `/v1/sims/${imsiHash(parseImsi('999990000000001')!)}`)).status, 404)
      const { sims } = bodyOf<{ sims: { provisioning: { driver: string; status: string } }[] }>(
        await bed.request('GET', '/v1/sims'),
      )
      assert.ok(sims.every(({ provisioning }) => provisioning.driver === 'none'))
    } finally {
      await bed.stop()
      await dir.remove()
    }
  },
  { limitMs: 20_000 },
)

batch.run()
