import { assert, patient, suite } from '@steeple/testkit'
import { EJSON, Int32 } from 'bson'
import type { WriteBackDriver } from '../../src/driver.ts'
import { free5gcDriver } from '../../src/free5gc/free5gc-driver.ts'
import { asideIdOf, COLLECTIONS, ueIdOf } from '../../src/free5gc/names.ts'
import { mongoLink } from '../../src/links/links.ts'
import { type Look, lookInto } from '../support/database.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

const documents = suite('driver-hss/free5gc/documents')
const ONE = subscriber(1, { apns: ['internet', 'ims.example'], msisdn: '43660001' })
const ueId = ueIdOf(ONE.imsi)

async function withDriver(
  work: (driver: WriteBackDriver, look: Look) => Promise<void>,
  release = '4.2.3',
): Promise<void> {
  const mongo = await sharedMongo()
  const url = mongo.url('free5gc')
  const look = await lookInto(url)
  await look.clear()
  const driver = free5gcDriver({
    name: 'core_b',
    link: mongoLink(url, 'free5gc'),
    plmn: () => ({ mcc: '999', mnc: '99' }),
    slices: () => [{ sst: 1, sd: '010203' }],
    release: () => release,
  })
  try {
    await work(driver, look)
  } finally {
    await driver.close()
    await look.close()
  }
}

async function one(look: Look, collection: string, filter: object = { ueId }): Promise<unknown> {
  const doc = await look.collection(collection).findOne(filter, { projection: { _id: 0 } })
  return doc === null ? undefined : JSON.parse(EJSON.stringify(doc, { relaxed: false }))
}

documents('takes over as it is what an operator has made in the web console', async () => {
  await withDriver(async (driver, look) => {
    const { apns, ambrBps, ...rest } = subscriber(1)
    await driver.upsert(
      [{ ...rest, apns: ['internet', 'corp.example'], ambrBps, msisdn: '491701' }],
      patient(),
    )
    const inSm = 'dnnConfigurations.internet'
    await look.collection(COLLECTIONS.sm).updateOne(
      {},
      {
        $set: {
          [`${inSm}.staticIpAddress`]: [{ ipv4Addr: '10.60.0.77' }],
          [`${inSm}.5gQosProfile.5qi`]: new Int32(5),
        },
      },
    )
    const all = async (): Promise<unknown> =>
      await Promise.all(Object.values(COLLECTIONS).map((collection) => one(look, collection)))
    const before = await all()
    const has = (await driver.existing?.([ONE.imsi], patient()))?.get(ONE.imsi)
    assert.equal([has?.apns, has?.ambrBps, has?.msisdn], [['internet', 'corp.example'], ambrBps, '491701'])
    const adopted = { ...rest, apns: has?.apns ?? [], ambrBps, msisdn: has?.msisdn ?? '' }
    assert.equal((await driver.compare?.([adopted], patient()))?.get(ONE.imsi)?.fields, [])
    await driver.upsert([adopted], patient())
    assert.equal(await all(), before)
    assert.equal(await driver.survey?.(patient()), {
      subscribers: 1,
      addresses: [{ apn: 'internet', address: '10.60.0.77' }],
    })
  })
})

documents('writes the eight documents of release 4', async () => {
  await withDriver(async (driver, look) => {
    await driver.upsert([ONE], patient())
    assert.equal(await one(look, COLLECTIONS.auth), {
      ueId,
      authenticationMethod: '5G_AKA',
      authenticationManagementField: '8000',
      encPermanentKey: '02'.repeat(16),
      encOpcKey: '66'.repeat(16),
      sequenceNumber: { sqnScheme: 'GENERAL', sqn: '000000001020' },
    })
    assert.equal(await one(look, COLLECTIONS.am), {
      ueId,
      servingPlmnId: '99999',
      gpsis: ['msisdn-43660001'],
      nssai: { defaultSingleNssais: [{ sst: { $numberInt: '1' }, sd: '010203' }] },
      subscribedUeAmbr: { uplink: '50 Mbps', downlink: '100 Mbps' },
    })
    assert.equal(await one(look, COLLECTIONS.selection), {
      ueId,
      servingPlmnId: '99999',
      subscribedSnssaiInfos: {
        '01010203': { dnnInfos: [{ dnn: 'internet', defaultDnnIndicator: true }, { dnn: 'ims.example' }] },
      },
    })
    const sm = (await one(look, COLLECTIONS.sm)) as { singleNssai: unknown; dnnConfigurations: object }
    assert.equal(sm.singleNssai, { sst: { $numberInt: '1' }, sd: '010203' })
    assert.equal(Object.keys(sm.dnnConfigurations), ['internet', 'ims.example'])
    assert.equal(await one(look, COLLECTIONS.identity), { ueId, gpsi: 'msisdn-43660001' })
    assert.equal(await one(look, COLLECTIONS.policyAm), { ueId, subscCats: ['free5gc'] })
    assert.equal(await one(look, COLLECTIONS.policySm), {
      ueId,
      smPolicySnssaiData: {
        '01010203': {
          snssai: { sst: { $numberInt: '1' }, sd: '010203' },
          smPolicyDnnData: { internet: { dnn: 'internet' }, ims_example: { dnn: 'ims.example' } },
        },
      },
    })
    assert.equal(await one(look, COLLECTIONS.charging), {
      ueId,
      servingPlmnId: '99999',
      snssai: '01010203',
      dnn: '',
      filter: '',
      chargingMethod: 'Offline',
      quota: '0',
      unitCost: '1',
    })
    assert.equal((await driver.observe([ONE.imsi], patient())).get(ONE.imsi)?.apns, ONE.apns)
    assert.is((await driver.observe([ONE.imsi], patient())).get(ONE.imsi)?.msisdn, '43660001')
  })
})

documents('leaves a SQN that the core has counted up', async () => {
  await withDriver(async (driver, look) => {
    await driver.upsert([ONE], patient())
    const counted = { $set: { sequenceNumber: { sqn: '0000000010ff' } } }
    await look.collection(COLLECTIONS.auth).updateOne({ ueId }, counted)
    const before = await look.world()
    await driver.upsert([ONE], patient())
    assert.is(await look.world(), before)
  })
})

documents('takes a subscriber of release 3.4 over into release 4 with its SQN', async () => {
  await withDriver(async (driver, look) => {
    const auth = look.collection(COLLECTIONS.auth)
    await auth.insertMany([
      {
        ueId,
        permanentKey: { permanentKeyValue: 'aa', encryptionKey: 0, encryptionAlgorithm: 0 },
        opc: { opcValue: 'bb' },
        sequenceNumber: '000000abcdef',
      },
      { ueId: 'imsi-999990000009999', encPermanentKey: 'cc', sequenceNumber: { sqn: '000000000024' } },
    ])
    await driver.upsert([ONE], patient())
    const doc = (await one(look, COLLECTIONS.auth)) as Record<string, unknown>
    assert.equal(doc.sequenceNumber, { sqnScheme: 'GENERAL', sqn: '000000abcdef' })
    assert.is(doc.encPermanentKey, '02'.repeat(16))
    assert.not.ok('permanentKey' in doc || 'opc' in doc)
    assert.match((await driver.probe(patient())).detail, /4\.0/)
  })
})

documents('bars sessions by putting their documents aside, whole', async () => {
  await withDriver(async (driver, look) => {
    await driver.upsert([ONE], patient())
    const address = { $set: { 'dnnConfigurations.internet.staticIpAddress': [{ ipv4Addr: '10.60.0.9' }] } }
    await look.collection(COLLECTIONS.sm).updateOne({ ueId }, address)
    const before = await look.world()
    await driver.setBlocked([ONE.imsi], true, patient())
    assert.is(await one(look, COLLECTIONS.sm), undefined)
    assert.is(await one(look, COLLECTIONS.policySm), undefined)
    assert.ok(await one(look, COLLECTIONS.sm, { ueId: asideIdOf(ONE.imsi) }))
    assert.ok(await one(look, COLLECTIONS.auth))
    await driver.upsert([{ ...ONE, isBlocked: true }], patient())
    await driver.upsert([ONE], patient())
    assert.is(await look.world(), before)
  })
})

documents('sees a block that was lifted half-way and mends it', async () => {
  await withDriver(async (driver, look) => {
    const blocked = { ...ONE, isBlocked: true }
    await driver.upsert([blocked], patient())
    const before = await look.world()
    await look.collection(COLLECTIONS.sm).updateOne({ ueId: asideIdOf(ONE.imsi) }, { $set: { ueId } })
    assert.is((await driver.observe([ONE.imsi], patient())).get(ONE.imsi)?.isBlocked, false)
    await driver.setBlocked([ONE.imsi], true, patient())
    assert.is(await look.world(), before)
  })
})

documents('sees an AMBR that was edited in one session or for the subscriber', async () => {
  await withDriver(async (driver, look) => {
    await driver.upsert([ONE], patient())
    const edit = { $set: { 'dnnConfigurations.internet.sessionAmbr.uplink': '1 Kbps' } }
    await look.collection(COLLECTIONS.sm).updateOne({ ueId }, edit)
    const seen = (await driver.observe([ONE.imsi], patient())).get(ONE.imsi)
    assert.equal(seen?.ambrBps, { up: 0, down: 0 })
    await driver.upsert([ONE], patient())
    const other = { $set: { 'subscribedUeAmbr.uplink': '1 Kbps' } }
    await look.collection(COLLECTIONS.am).updateOne({ ueId }, other)
    const again = (await driver.observe([ONE.imsi], patient())).get(ONE.imsi)
    assert.equal(again?.ambrBps, { up: 0, down: 0 })
  })
})

documents(
  'sees a subscriber whose access data are gone as one that is there, with nothing to go on',
  async () => {
    await withDriver(async (driver, look) => {
      await driver.upsert([ONE], patient())
      await look.collection(COLLECTIONS.am).deleteMany({})
      const seen = (await driver.observe([ONE.imsi], patient())).get(ONE.imsi)
      // Its SQN is not lost.
      assert.equal([seen?.ambrBps, seen?.msisdn], [{ up: 0, down: 0 }, undefined])
      await look.collection(COLLECTIONS.auth).deleteMany({})
      assert.is((await driver.observe([ONE.imsi], patient())).size, 0)
    })
  },
)

documents(
  'leaves the copies of charging data that the core makes, and removes them with the subscriber',
  async () => {
    await withDriver(async (driver, look) => {
      const charging = look.collection(COLLECTIONS.charging)
      const key = { ueId, servingPlmnId: '99999', snssai: '01010203', dnn: '', filter: '' }
      await charging.insertOne({ ...key, ratingGroup: 7, chargingMethod: 'None' })
      await driver.upsert([ONE], patient())
      await driver.upsert([ONE], patient())
      assert.is(Number(await charging.countDocuments({})), 2)
      // The PCF takes the first that it finds, and gives no session for a method that it does not know.
      assert.is((await charging.findOne({ ratingGroup: 7 }))?.chargingMethod, 'Offline')
      await driver.remove([ONE.imsi], patient())
      assert.is(await look.world(), '')
    })
  },
)

documents.run()
