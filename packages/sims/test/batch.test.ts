import { createECDH, createPrivateKey } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Context, isServiceError } from '@steeple/contracts'
import { imsiHash, luhnCheckDigit, opcFrom, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  loadTestbed,
  memoryDb,
  pluginFrom,
  suite,
  type Testbed,
  tempDir,
} from '@steeple/testkit'
import fc from 'fast-check'
import { BATCHES, type BatchRow, cardsCsv, removeOldFiles } from '../src/batches.ts'
import { drawCard, drawImsi, iccidIssuer } from '../src/issue/draw-sims.ts'
import { MIGRATIONS } from '../src/migrations.ts'
import { unsealBatch } from '../src/offline.ts'
import { plugin } from '../src/plugin.ts'
import {
  CARD_FIELDS,
  drawDigits,
  drawOctets,
  hexAscii,
  octetsFromHex,
  packCard,
  sealSim,
  unpackCard,
} from '../src/secrets/card.ts'
import { SIMS } from '../src/store/sim-store.ts'
import type { IssueAnswer } from './support/answers.ts'
import { simRow } from './support/rows.ts'
import { testVault } from './support/vault.ts'

const batch = suite('sims/batch')
const LAB = { mcc: '999', mnc: '99' }
const BATCH: Omit<BatchRow, 'key_sealed'> = {
  id: 'b-1',
  created_at_ms: 0,
  sims: 1,
  profile: 'p',
  plmn: '999-99',
  label: null,
  issued_by: null,
  files_at_ms: null,
}
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

batch('draws ICCIDs with the country calling code of the network, 19 digits whatever it is', () => {
  for (const [mcc, mnc, head] of [
    ['310', '410', '8910410'],
    ['262', '01', '8949001'],
    ['204', '08', '8931008'],
    ['272', '03', '8935303'],
    ['999', '70', '89999070'],
    ['001', '01', '89001001'],
    ['901', '70', '89901070'],
    ['374', '130', '8910130'],
    ['722', '310', '8954310'],
    ['466', '92', '8988692'],
  ] as const) {
    assert.is(iccidIssuer({ mcc, mnc }), head)
    const iccid = text(drawCard({ mcc, mnc }, undefined).iccid)
    assert.match(iccid, new RegExp(`^${head}\\d{${19 - head.length}}$`))
    assert.is(luhnCheckDigit(iccid.slice(0, -1)), Number(iccid.at(-1)))
  }
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

batch('gives octets once, also where one fetch ends and the next begins', () => {
  const drawn = Array.from({ length: 2_000 }, () => text(hexAscii(drawOctets(16))))
  assert.is(new Set(drawn).size, drawn.length)
  assert.not.ok(drawn.some((octets) => octets.includes('00'.repeat(8))))
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

/** The keys of TS 33.501 annexes C.4.3 and C.4.4 as `svc node init` would have left them; gives the public ones. */
async function withHomeKeys(
  dataDir: string,
  work: (publicKeys: readonly string[]) => Promise<void>,
): Promise<void> {
  const keys = join(dataDir, 'keys')
  const publicKeys = [
    '5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650',
    '0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1',
  ]
  const a = createPrivateKey({
    key: {
      kty: 'OKP',
      crv: 'X25519',
      d: base64url('c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d'),
      x: base64url(publicKeys[0] ?? ''),
    },
    format: 'jwk',
  })
  const ecdh = createECDH('prime256v1')
  ecdh.setPrivateKey(Buffer.from('f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda', 'hex'))
  const point = ecdh.getPublicKey()
  const b = createPrivateKey({
    key: {
      kty: 'EC',
      crv: 'P-256',
      d: ecdh.getPrivateKey().toString('base64url'),
      x: point.subarray(1, 33).toString('base64url'),
      y: point.subarray(33).toString('base64url'),
    },
    format: 'jwk',
  })
  await mkdir(keys)
  await writeFile(join(keys, 'hnet-1.key'), a.export({ format: 'pem', type: 'pkcs8' }))
  await writeFile(join(keys, 'hnet-2.key'), b.export({ format: 'pem', type: 'sec1' }))
  try {
    await work(publicKeys)
  } finally {
    await rm(keys, { recursive: true })
  }
}

function base64url(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64url')
}

batch('unseals a batch in every format from its rows, and says what is missing', async () => {
  const dir = await tempDir()
  const db = memoryDb(MIGRATIONS)
  const vault = testVault()
  const card = drawCard(LAB, undefined)
  const imsi = parseImsi('999990000000001')!
  const row = { ...BATCH, label: 'a,b', key_sealed: vault.seal(new Uint8Array(), 'sims_batch/b-1') }
  const hash = imsiHash(imsi)
  await db.write((tx) => BATCHES.insert(tx, row))
  await db.write((tx) =>
    SIMS.insert(tx, simRow({ hash, batch_id: 'b-1', ...sealSim(vault, hash, imsi, card) })),
  )
  const csv = cardsCsv([{ imsi, card }])
  const place = { reader: db, vault, dataDir: dir.path, homeKeys: new Set([1, 2]) }
  assert.is(await unsealBatch(place, 'b-1', 'csv'), text(csv))
  const keys = [text(hexAscii(card.ki)), text(hexAscii(card.opc))]
  const pysim = (await unsealBatch(place, 'b-1', 'pysim')).split('\n')
  assert.is(pysim[0], 'name,iccid,mcc,mnc,imsi,smsp,ki,opc,adm1,pin_adm_hex')
  assert.is(pysim[1], `a_b,${text(card.iccid)},999,99,999990000000001,,${keys.join()},${text(card.adm1)},`)
  const [json] = JSON.parse(await unsealBatch(place, 'b-1', 'json'))
  assert.equal([json.ki, json.opc, json.puk2], [...keys, text(card.puk2)])
  assert.is(json.ef_suci_calc_info, undefined)
  await withHomeKeys(dir.path, async (publicKeys) => {
    const [told] = JSON.parse(await unsealBatch(place, 'b-1', 'json'))
    assert.equal(told.ef_suci_calc_info, {
      prot_scheme_id_list: [
        { priority: 0, identifier: 1, key_index: 1 },
        { priority: 1, identifier: 2, key_index: 2 },
      ],
      hnet_pubkey_list: [
        { hnet_pubkey_identifier: 1, hnet_pubkey: publicKeys[0] },
        { hnet_pubkey_identifier: 2, hnet_pubkey: publicKeys[1] },
      ],
    })
    assert.not.match(JSON.stringify(told), /PRIVATE/)
    // Of the keys that lie here cards are told those alone by which the core's UDM can tell who they are.
    const toldOf = async (homeKeys: readonly number[]) => {
      const [card] = JSON.parse(await unsealBatch({ ...place, homeKeys: new Set(homeKeys) }, 'b-1', 'json'))
      return card.ef_suci_calc_info?.hnet_pubkey_list.map(
        (key: Record<string, unknown>) => key.hnet_pubkey_identifier,
      )
    }
    assert.equal([await toldOf([2, 3]), await toldOf([])], [[2], undefined])
  })
  await unsealBatch(place, 'b-2', 'csv').then(assert.unreachable, (error: Error) =>
    assert.match(error.message, /b-2/),
  )
  await db.write((tx) => SIMS.remove(tx, { hash }))
  await unsealBatch(place, 'b-1', 'csv').then(assert.unreachable, (error) =>
    assert.is(isServiceError(error) && error.code, 'store_corrupt'),
  )
  db.close()
  await dir.remove()
})

batch('removes the card files of earlier versions, but not of a batch with damaged rows', async () => {
  await using dir = await tempDir()
  const db = memoryDb(MIGRATIONS)
  const vault = testVault()
  const imsis = ['999990000000001', '999990000000002'].map((digits) => parseImsi(digits)!)
  await db.write(async (tx) => {
    for (const [at, imsi] of imsis.entries()) {
      const id = `b-${at}`
      const hash = imsiHash(imsi)
      const sealed = sealSim(vault, hash, imsi, drawCard(LAB, undefined))
      await SIMS.insert(tx, simRow({ hash, batch_id: id, ...sealed }))
      await BATCHES.insert(tx, { ...BATCH, id, key_sealed: vault.seal(new Uint8Array(), `sims_batch/${id}`) })
    }
    await tx.run("update sims_sim set row_sum = 0 where batch_id = 'b-1'")
  })
  const folder = (name: string): string => join(dir.path, 'batches', name)
  for (const name of ['b-0', 'b-1', 'b-unknown', 'notes']) {
    await mkdir(folder(name), { recursive: true })
    await writeFile(join(folder(name), 'cards.csv.sealed'), 'x')
  }
  const warned: unknown[] = []
  // Of a context no more is used.
  const context = {
    db,
    settings: { server: { data_dir: dir.path } },
    retiring: new AbortController().signal,
    log: { warn: (facts: { readonly batch: unknown }) => warned.push(facts.batch) },
  } as unknown as Context
  await removeOldFiles(context, vault)
  assert.equal(['b-0', 'b-1', 'b-unknown', 'notes'].map(folder).map(existsSync), [false, true, false, true])
  assert.equal(warned, ['b-1'])
  db.close()
})

batch('writes no file at an issue, and takes the OP from its file', async () => {
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
    assert.is(output_dir, join(bed.dataDir, 'batches', batch_id))
    assert.not.ok(existsSync(join(bed.dataDir, 'batches')))
    assert.is(codeOf(await bed.request('POST', '/v1/sims', { body: { count: 2 } }), 409), 'capacity_exceeded')
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
})

batch('gives the cards of an import by the id that it answered', async () => {
  await using dir = await tempDir()
  const db = memoryDb(MIGRATIONS)
  const vault = testVault()
  const imsis = ['999990000000002', '999990000000001'].map((digits) => parseImsi(digits)!)
  await db.write(async (tx) => {
    for (const imsi of imsis) {
      const hash = imsiHash(imsi)
      const sealed = sealSim(vault, hash, imsi, drawCard(LAB, undefined))
      await SIMS.insert(tx, simRow({ hash, batch_id: 'i-20260101-x', ...sealed }))
    }
  })
  const place = { reader: db, vault, dataDir: dir.path, homeKeys: new Set<number>() }
  const cards = JSON.parse(await unsealBatch(place, 'i-20260101-x', 'json')) as readonly { imsi: string }[]
  assert.equal(
    cards.map((card) => card.imsi),
    [...imsis].reverse(),
  )
  assert.is((await unsealBatch(place, 'i-20260101-x', 'csv')).trim().split('\n').length, 3)
  assert.match(await unsealBatch(place, 'i-20260101-x', 'pysim'), /^name,iccid,mcc,mnc,imsi/)
  const missing = await unsealBatch(place, 'i-20260101-y', 'csv').catch((error: unknown) => error)
  assert.ok(isServiceError(missing) && missing.code === 'not_found')
  db.close()
})

batch.run()
