import { readFileSync } from 'node:fs'
import { type Imsi, isServiceError, type Subscriber } from '@steeple/contracts'
import { assert, patient, suite } from '@steeple/testkit'
import { Double, EJSON, Int32, Long } from 'bson'
import type { WriteBackDriver } from '../../src/driver.ts'
import { mongoLink } from '../../src/links/links.ts'
import { open5gsDriver } from '../../src/open5gs/open5gs-driver.ts'
import { cancelWrites } from '../../src/open5gs/writes.ts'
import { type Look, lookInto } from '../support/database.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

const documents = suite('driver-hss/open5gs/documents')
const stored = (name: string) =>
  JSON.parse(readFileSync(new URL(`../fixtures/${name}.ejson-canonical.json`, import.meta.url), 'utf8'))

const RECORDED: Subscriber = {
  imsi: '999707364000060' as Imsi, // 15 digits
  ki: Buffer.from('465b5ce8b199b49faa5f0a2ee238a6bc', 'hex'),
  opc: Buffer.from('e8ed289deba952e4283b54e88e6183ca', 'hex'),
  sqn: 32n,
  apns: ['internet'],
  ambrBps: { up: 1_000_000_000, down: 1_000_000_000 },
  isBlocked: false,
}

async function withDriver(work: (driver: WriteBackDriver, look: Look) => Promise<void>): Promise<void> {
  const mongo = await sharedMongo()
  const url = mongo.url('open5gs')
  const look = await lookInto(url)
  await look.clear()
  const link = mongoLink(url, 'open5gs')
  const driver = open5gsDriver({ name: 'docdb_shell', link, slices: () => [{ sst: 1 }], cancelMs: 10 })
  try {
    await work(driver, look)
  } finally {
    await driver.close()
    await look.close()
  }
}

/** A stored document as canonical EJSON without ids, keys sorted. */
function plain(doc: unknown): unknown {
  return JSON.parse(EJSON.stringify(doc, { relaxed: false }), (key, value: unknown) => {
    if (key === '_id') return undefined
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
}
const sorted = (doc: unknown) => plain(EJSON.parse(JSON.stringify(doc), { relaxed: false }))

documents('stores byte for byte what dbctl stores, the SQN as Int64 and the realm spelt right', async () => {
  await withDriver(async (driver, look) => {
    await driver.upsert([RECORDED], patient())
    const { mm_realm, security, ...rest } = stored('subscriber.after-dbctl-add')
    const expected = { ...rest, mme_realm: mm_realm, security: { ...security, sqn: { $numberLong: '32' } } }
    const doc = await look.collection('subscribers').findOne({ imsi: RECORDED.imsi })
    assert.is(JSON.stringify(plain(doc)), JSON.stringify(sorted(expected)))
  })
})

documents('changes nothing in a document that the core has written to since', async () => {
  await withDriver(async (driver, look) => {
    const attached = EJSON.parse(JSON.stringify(stored('subscriber.after-attach')), { relaxed: false })
    await look.collection('subscribers').insertOne(attached)
    const before = await look.world()
    const result = await driver.upsert([{ ...RECORDED, sqn: 0n }], patient())
    assert.equal([...result.values()], [undefined])
    assert.is(await look.world(), before)
  })
})

documents('blocks with one update: slices aside, none left, cancel flag set as a boolean', async () => {
  await withDriver(async (driver, look) => {
    await driver.upsert([RECORDED], patient())
    const slice = (await look.collection('subscribers').findOne({}))?.slice
    await driver.setBlocked([RECORDED.imsi], true, patient())
    const doc = await look.collection('subscribers').findOne({})
    assert.equal(plain(doc?.suspended_slice), plain(slice))
    assert.equal(doc?.slice, [])
    assert.is(doc?.request_cancel_location, true)
  })
})

documents('sets a cancel flag that was left behind anew, since only a change is heard', async () => {
  await withDriver(async (driver, look) => {
    await driver.upsert([RECORDED], patient())
    const subscribers = look.collection('subscribers')
    await subscribers.updateOne({}, { $set: { request_cancel_location: true } })
    await driver.setBlocked([RECORDED.imsi], true, patient())
    assert.is((await subscribers.findOne({}))?.request_cancel_location, true)
    await driver.setBlocked([RECORDED.imsi], false, patient())
    const doc = await subscribers.findOne({})
    assert.not.ok('request_cancel_location' in (doc ?? {}))
    assert.not.ok('suspended_slice' in (doc ?? {}))
  })
})

documents('repairs what was edited by hand: AMBR, APN, types, a block that was lifted', async () => {
  await withDriver(async (driver, look) => {
    const blocked = subscriber(2, { isBlocked: true })
    await driver.upsert([RECORDED, blocked], patient())
    const subscribers = look.collection('subscribers')
    const before = await look.world()
    const slice = (await subscribers.findOne({ imsi: blocked.imsi }))?.suspended_slice
    await subscribers.updateOne(
      { imsi: RECORDED.imsi },
      {
        $set: {
          ambr: { downlink: { value: new Double(1e9), unit: 0 }, uplink: { value: 5, unit: 0 } },
          'slice.0.sst': new Double(1),
          'slice.0.session': [],
        },
        $unset: { schema_version: '' },
      },
    )
    await subscribers.updateOne({ imsi: blocked.imsi }, { $set: { slice } })
    const seen = await driver.observe([RECORDED.imsi, blocked.imsi], patient())
    assert.equal(seen.get(RECORDED.imsi)?.apns, [])
    assert.is(seen.get(RECORDED.imsi)?.ambrBps.down, 0)
    assert.is(seen.get(blocked.imsi)?.isBlocked, false)
    await driver.upsert([RECORDED, blocked], patient())
    assert.equal(sortedLines(await look.world()), sortedLines(before))
  })
})

documents(
  'gives a ghost of the core its keys and its SQN, and sweeps those alone that it has removed',
  async () => {
    await withDriver(async (driver, look) => {
      const subscribers = look.collection('subscribers')
      const removed = subscriber(78)
      await driver.upsert([removed], patient())
      await driver.remove([removed.imsi], patient())
      const hardBlocked = { imsi: '999990000000077', slice: [], schema_version: 1 }
      await subscribers.insertMany([
        { imsi: RECORDED.imsi, imeisv: '8665070400405301' },
        { imsi: removed.imsi, imeisv: '8665070400405302', mme_timestamp: Long.fromNumber(5) },
        { imsi: '999990000009999', imeisv: '8665070400405303' },
        hardBlocked,
      ])
      assert.is((await driver.observe([RECORDED.imsi], patient())).size, 0)
      await driver.upsert([RECORDED], patient())
      await driver.sweep(patient())
      const left = await subscribers.find({}, { sort: { imsi: 1 } }).toArray()
      assert.equal(
        left.map(({ imsi }) => imsi),
        [RECORDED.imsi, hardBlocked.imsi, '999990000009999'],
      )
      assert.is(String(left[0]?.security.sqn), '32')
      assert.is(left[0]?.imeisv, '8665070400405301')
    })
  },
)

documents('takes over as it is what an operator has made in the web interface', async () => {
  await withDriver(async (driver, look) => {
    const rate = (value: number, unit: number) => ({ value: new Int32(value), unit: new Int32(unit) })
    const ambr = { uplink: rate(50, 2), downlink: rate(200, 2) }
    const arp = {
      priority_level: new Int32(2),
      pre_emption_capability: new Int32(2),
      pre_emption_vulnerability: new Int32(1),
    }
    const session = (name: string, rates: object, more: object = {}) => ({
      name,
      type: new Int32(1),
      qos: { index: new Int32(5), arp },
      ambr: rates,
      pcc_rule: [],
      ...more,
    })
    const rule = {
      flow: [{ direction: new Int32(1), description: 'permit out ip from any to assigned' }],
      qos: { index: new Int32(1), arp },
    }
    const sliceAt = (rates: object) => [
      {
        sst: new Int32(1),
        default_indicator: true,
        session: [
          session('corp', rates, { pcc_rule: [rule], ue: { ipv4: '10.45.0.77' } }),
          session('internet', rates),
        ],
      },
      { sst: new Int32(2), sd: '00000a', default_indicator: false, session: [session('iot', ambr)] },
    ]
    const slice = sliceAt(ambr)
    const doc = {
      imsi: RECORDED.imsi,
      schema_version: new Int32(1),
      msisdn: ['491701', '491702'],
      slice,
      ambr,
    }
    const security = {
      k: Buffer.from(RECORDED.ki).toString('hex').toUpperCase(),
      opc: null,
      op: '00'.repeat(16),
      amf: '9001',
      sqn: Long.fromNumber(97_000),
    }
    await look.collection('subscribers').insertOne({ ...doc, security })
    const has = (await driver.existing?.([RECORDED.imsi], patient()))?.get(RECORDED.imsi)
    assert.equal(has, {
      apns: ['corp', 'internet'],
      ambrBps: { up: 50_000_000, down: 200_000_000 },
      sessionAmbrBps: new Map(),
      msisdn: '491701',
      isBlocked: false,
    })
    const { apns, ambrBps = RECORDED.ambrBps, msisdn = '' } = has ?? RECORDED
    const adopted = { ...RECORDED, apns, ambrBps, msisdn }
    const difference = (await driver.compare?.([adopted], patient()))?.get(RECORDED.imsi)
    await driver.upsert([adopted], patient())
    const after = await look.collection('subscribers').findOne({})
    assert.equal(
      plain({ slice: after?.slice, msisdn: after?.msisdn }),
      plain({ slice: sliceAt(ambr), msisdn: doc.msisdn }),
    )
    assert.is(after?.security.amf, '9001')
    assert.is(String(after?.security.sqn), '97000')
    // Fields that the document of an old interface lacks are added.
    const named = ['Ki', 'OPc', 'OP', 'MSISDN', 'AMBR', 'slices and APNs']
    assert.equal(
      named.filter((name) => difference?.fields.includes(name)),
      ['OPc', 'OP'],
    )
    const survey = await driver.survey?.(patient())
    assert.equal(survey, {
      subscribers: 1,
      addresses: [{ apn: 'corp', address: '10.45.0.77' }],
      problems: [],
    })
  })
})

documents('says that Open5GS ends at more APNs in a slice than it has room for, blocked or not', async () => {
  await withDriver(async (driver, look) => {
    const problems = async () => (await driver.survey?.(patient()))?.problems ?? []
    const all = look.collection('subscribers')
    const sessions = (count: number) => Array.from({ length: count }, (_, at) => ({ name: `apn${at}` }))
    const insert = async (number: number, ...slices: readonly number[]) => {
      const slice = slices.map((count, at) => ({ sst: at + 1, session: sessions(count) }))
      await all.insertOne({ imsi: subscriber(number).imsi, security: {}, slice })
    }
    await insert(1, 4, 4)
    assert.equal(await problems(), [])
    await insert(2, 1, 5)
    assert.match((await problems()).join(), /^1 subscriber has a slice with more than 4 APNs: .*(HSS|UDR)/)
    await all.updateOne(
      { imsi: subscriber(1).imsi },
      { $set: { suspended_slice: [{ session: sessions(6) }] } },
    )
    assert.match((await problems()).join(), /^2 subscribers have a slice with more than 4 APNs/)
  })
})

documents('leaves a subscriber blocked at whose slices the HSS would end, and says so', async () => {
  await withDriver(async (driver, look) => {
    const { imsi } = subscriber(1)
    const session = Array.from({ length: 5 }, (_, at) => ({ name: `apn${at}` }))
    const doc = { imsi, security: { k: '00' }, slice: [], suspended_slice: [{ sst: 1, session }] }
    await look.collection('subscribers').insertOne(doc)
    const result = (await driver.setBlocked([imsi], false, patient())).get(imsi)
    assert.match(result?.message ?? '', /more than 4 APNs/)
    assert.equal((await look.collection('subscribers').findOne({ imsi }))?.slice, [])
  })
})

documents('keeps a second MSISDN, writes the first, reports it', async () => {
  await withDriver(async (driver, look) => {
    const one = subscriber(3, { msisdn: '43660001' })
    await driver.upsert([one], patient())
    await look.collection('subscribers').updateOne({}, { $set: { msisdn: ['1', '43660002'] } })
    await driver.upsert([one], patient())
    assert.equal((await look.collection('subscribers').findOne({}))?.msisdn, ['43660001', '43660002'])
    assert.is((await driver.observe([one.imsi], patient())).get(one.imsi)?.msisdn, '43660001')
  })
})

documents('removes a live subscriber only after its block could be heard', async () => {
  await withDriver(async (_driver, look) => {
    const mongo = await sharedMongo()
    const link = mongoLink(mongo.url('open5gs'), 'open5gs')
    const slow = open5gsDriver({ name: 'x', link, slices: () => [{ sst: 1 }], cancelMs: 3_000 })
    await slow.upsert([RECORDED], patient())
    const removing = slow.remove([RECORDED.imsi], patient())
    let sawBlocked = false
    for (let doc = await look.collection('subscribers').findOne({}); doc !== null; ) {
      sawBlocked ||= doc.request_cancel_location === true && doc.slice.length === 0
      doc = await look.collection('subscribers').findOne({})
    }
    await removing
    await slow.close()
    assert.ok(sawBlocked)
  })
})

documents(
  'cancels a location anew each time, for those that are there, and changes nothing else',
  async () => {
    await withDriver(async (driver, look) => {
      await driver.upsert([RECORDED], patient())
      const stranger = subscriber(2).imsi
      const collection = look.collection('subscribers')
      const before = plain(await collection.findOne({ imsi: RECORDED.imsi }))
      for (let round = 0; round < 2; round += 1) {
        const result = await driver.cancelLocation?.([RECORDED.imsi, stranger], patient())
        assert.is(result?.get(RECORDED.imsi), undefined)
        const problem = result?.get(stranger)
        assert.ok(isServiceError(problem) && problem.code === 'not_found')
        const after = plain(await collection.findOne({ imsi: RECORDED.imsi }))
        assert.equal(after, sorted({ ...(before as object), request_cancel_location: true }))
      }
      assert.is(Number(await collection.countDocuments()), 1)
      const filter = { imsi: RECORDED.imsi }
      assert.equal(cancelWrites({ ...filter, request_cancel_location: true }), [
        { updateOne: { filter, update: { $unset: { request_cancel_location: '' } } } },
        { updateOne: { filter, update: { $set: { request_cancel_location: true } } } },
      ])
    })
  },
)

documents('refuses bad subscribers one by one and writes the others', async () => {
  await withDriver(async (driver, look) => {
    const many = Array.from({ length: 1200 }, (_none, index) =>
      subscriber(index % 200, {
        imsi: `99999${String(index).padStart(10, '0')}` as Imsi, // digits by construction
        ...(index % 2 === 0 ? {} : { apns: ['1', '2', '3', '4', '5'] }),
      }),
    )
    const result = await driver.upsert(many, patient())
    assert.is(result.size, 1200)
    assert.is([...result.values()].filter((error) => error === undefined).length, 600)
    assert.is(Number(await look.collection('subscribers').countDocuments()), 600)
  })
})

documents('says that double subscribers keep the index away, and works on', async () => {
  const mongo = await sharedMongo()
  const look = await lookInto(mongo.url('doubles'))
  await look.collection('subscribers').insertMany([{ imsi: '1' }, { imsi: '1' }])
  const link = mongoLink(mongo.url('doubles'), 'open5gs')
  const driver = open5gsDriver({ name: 'x', link, slices: () => [{ sst: 1 }] })
  assert.equal([...(await driver.upsert([subscriber(1)], patient())).values()], [undefined])
  assert.match((await driver.probe(patient())).detail, /double subscribers/)
  await driver.close()
  await look.close()
})

documents('reads types past the driver as they are', () => {
  assert.equal(plain({ a: new Int32(1), _id: 1 }), { a: { $numberInt: '1' } })
})

function sortedLines(world: string): readonly unknown[] {
  return world.split('\n').map((line) => sorted(JSON.parse(line.slice(line.indexOf(' ') + 1))))
}

documents('sees an AMBR that was edited for the subscriber alone or for one session alone', async () => {
  await withDriver(async (driver, look) => {
    const rate = {
      downlink: { value: new Int32(64), unit: new Int32(1) },
      uplink: { value: new Int32(64), unit: new Int32(1) },
    }
    for (const place of ['ambr', 'slice.0.session.0.ambr']) {
      await driver.upsert([RECORDED], patient())
      const wanted = (await driver.observe([RECORDED.imsi], patient())).get(RECORDED.imsi)
      assert.equal(wanted?.ambrBps, RECORDED.ambrBps)
      await look.collection('subscribers').updateOne({ imsi: RECORDED.imsi }, { $set: { [place]: rate } })
      const seen = (await driver.observe([RECORDED.imsi], patient())).get(RECORDED.imsi)
      assert.equal(seen?.ambrBps, { up: 0, down: 0 }, place)
    }
  })
})

interface Edit {
  readonly $set?: Readonly<Record<string, unknown>>
  readonly $unset?: Readonly<Record<string, ''>>
}

/** What a hand could do to a document, and what it is called. */
const EDITS: readonly (readonly [edit: Edit, name: string])[] = [
  [{ $set: { 'security.k': '00'.repeat(16) } }, 'Ki'],
  [{ $set: { 'security.opc': '00'.repeat(16) } }, 'OPc'],
  [{ $unset: { 'security.opc': '' } }, 'OPc'],
  [{ $set: { 'security.op': '00'.repeat(16) } }, 'OP'],
  [{ $unset: { 'security.amf': '' } }, 'AMF'],
  [{ $set: { 'security.sqn': '64' } }, 'SQN'],
  [{ $unset: { 'security.sqn': '' } }, 'SQN'],
  [{ $set: { msisdn: [] } }, 'MSISDN'],
  [{ $set: { msisdn: ['123456'] } }, 'MSISDN'],
  [{ $set: { 'ambr.downlink.value': new Int32(1) } }, 'AMBR'],
  [{ $set: { 'ambr.uplink.value': new Double(1_000_000_000) } }, 'AMBR'],
  [{ $set: { slice: [] } }, 'slices and APNs'],
  [{ $set: { 'slice.0.sst': new Double(1) } }, 'slices and APNs'],
  [{ $set: { 'slice.0.default_indicator': false } }, 'slices and APNs'],
  [{ $set: { 'slice.0.session': [] } }, 'slices and APNs'],
  [{ $set: { 'slice.0.session.0.name': 'other' } }, 'slices and APNs'],
  [{ $set: { 'slice.0.session.0.type': new Double(3) } }, 'slices and APNs'],
  [{ $set: { 'slice.0.session.0.ambr.uplink.value': new Int32(5) } }, 'slices and APNs'],
  [{ $set: { 'slice.0.session.0.qos.index': '9' } }, 'slices and APNs'],
  [{ $unset: { 'slice.0.session.0.qos.arp': '' } }, 'slices and APNs'],
  [{ $set: { suspended_slice: [] } }, 'suspended_slice'],
  [{ $set: { request_cancel_location: true } }, 'request_cancel_location'],
  [{ $unset: { schema_version: '' } }, 'schema_version'],
  [{ $unset: { subscriber_status: '' } }, 'subscriber_status'],
  [{ $unset: { network_access_mode: '' } }, 'network_access_mode'],
]

documents(
  'names what a hand has changed, types included, mends it with one push, and tells no key',
  async () => {
    await withDriver(async (driver, look) => {
      const wanted = { ...RECORDED, apns: ['internet', 'ims'], msisdn: '436641234567' }
      const difference = async () => (await driver.compare?.([wanted], patient()))?.get(wanted.imsi)
      assert.is((await driver.compare?.([wanted], patient()))?.size, 0)
      await driver.upsert([wanted], patient())
      assert.equal(await difference(), { fields: [], isSqnLost: false })
      const good = await look.world()
      for (const [edit, name] of EDITS) {
        const collection = look.collection('subscribers')
        // The server of the tests takes an equal number of another type for no change, both ways; MongoDB does not.
        const drop = { $unset: retyped(edit) }
        const isRetyped = Object.keys(drop.$unset).length > 0
        if (isRetyped) await collection.updateOne({ imsi: wanted.imsi }, drop)
        await collection.updateOne({ imsi: wanted.imsi }, edit)
        const edited = await look.world()
        const found = await difference()
        assert.ok(found?.fields.includes(name), `${JSON.stringify(edit)}: ${found?.fields.join()}`)
        assert.is(await look.world(), edited, 'a look changes nothing')
        if (isRetyped) await collection.updateOne({ imsi: wanted.imsi }, drop)
        await driver.upsert([wanted], patient())
        assert.equal((await difference())?.fields, [], JSON.stringify(edit))
        const sqn = /"sqn":\{"\$numberLong":"\d+"\}/
        assert.match(await look.world(), sqn)
        if (name !== 'SQN') assert.is(sortedLine(await look.world()), sortedLine(good), JSON.stringify(edit))
        await look
          .collection('subscribers')
          .updateOne({ imsi: wanted.imsi }, { $set: { 'security.sqn': Long.fromNumber(32) } })
      }
    })
  },
)

/** The fields that an edit sets to another type of the same number. */
function retyped(edit: Edit): Readonly<Record<string, string>> {
  const doubles = Object.entries(edit.$set ?? {}).filter(([, value]) => value instanceof Double)
  return Object.fromEntries(doubles.map(([field]) => [field, '']))
}

/** A text whatever the order of its fields. */
function sortedLine(text: string): string {
  return [...text].toSorted().join('')
}

documents.run()
