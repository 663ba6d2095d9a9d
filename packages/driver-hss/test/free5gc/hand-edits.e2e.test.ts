import type { Subscriber } from '@steeple/contracts'
import { assert, patient, suite } from '@steeple/testkit'
import type { WriteBackDriver } from '../../src/driver.ts'
import { free5gcDriver } from '../../src/free5gc/free5gc-driver.ts'
import { COLLECTIONS, ueIdOf } from '../../src/free5gc/names.ts'
import { mongoLink } from '../../src/links/links.ts'
import { coreReader } from '../support/core-reader.ts'
import { type Look, lookInto } from '../support/database.ts'
import { EDITS, type Edit, type Release } from '../support/hand-edits.ts'
import { sharedMongo } from '../support/mongo-server.ts'
import { subscriber } from '../support/subscribers.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

const edits = suite('driver-hss/free5gc/hand-edits')
const PLMN = '99999'
const SLICES = [{ sst: 1, sd: '010203' }, { sst: 1 }, { sst: 128, sd: '00aabb' }]
const ONE = subscriber(1, { apns: ['internet', 'iot.example', '42'], msisdn: '43660001' })
const ueId = ueIdOf(ONE.imsi)

interface World {
  readonly driver: WriteBackDriver
  readonly look: Look
  readonly release: Release
}

async function withDriver(release: Release, work: (world: World) => Promise<void>): Promise<void> {
  const url = (await sharedMongo()).url('free5gc')
  const look = await lookInto(url)
  await look.clear()
  const driver = free5gcDriver({
    name: 'core_b',
    link: mongoLink(url, 'free5gc'),
    plmn: () => ({ mcc: '999', mnc: '99' }),
    slices: () => SLICES,
    release: () => release,
  })
  try {
    await work({ driver, look, release })
  } finally {
    await driver.close()
    await look.close()
  }
}

/** Everything that is stored, however the fields are ordered. */
async function stored({ look }: Pick<World, 'look'>): Promise<string> {
  const lines = (await look.world()).split('\n').map((line) => {
    const at = line.indexOf(' {')
    return `${line.slice(0, at)} ${JSON.stringify(inOrder(JSON.parse(line.slice(at))))}`
  })
  return lines.toSorted().join('\n')
}

function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, one]) => [key, inOrder(one)] as const)
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** What a phone of `ONE` runs into. */
async function troubles({ look, release }: World): Promise<readonly string[]> {
  const reader = await coreReader(look, release)
  const sessions = SLICES.flatMap((slice) => ONE.apns.map((dnn) => reader.session(ueId, PLMN, slice, dnn)))
  const found = [reader.authentication(ueId), reader.registration(ueId, PLMN), ...sessions]
  return found.filter((one) => one !== undefined)
}

async function fieldsOf({ driver }: World, one: Subscriber = ONE): Promise<readonly string[] | undefined> {
  return (await driver.compare?.([one], patient()))?.get(one.imsi)?.fields
}

async function edit(look: Look, { on, update, filter = {} }: Edit): Promise<void> {
  const collection = look.collection(COLLECTIONS[on])
  const its = { ueId, ...filter }
  if (update === undefined) await collection.deleteMany(its)
  else await collection.updateMany(its, update)
}

for (const release of ['4.2.3', '3.4.5'] as const) {
  edits(`finds and mends every kind of edit in the documents of ${release}`, async () => {
    await withDriver(release, async (world) => {
      const { driver, look } = world
      await driver.upsert([ONE], patient())
      assert.equal(await troubles(world), [])
      const kinds = EDITS.filter((one) => (one.release ?? release) === release)
      assert.ok(kinds.length >= 35)
      for (const kind of kinds) {
        const name = `${release}: ${kind.what} (${kind.on})`
        const before = await stored(world)
        await edit(look, kind)
        assert.ok((await stored(world)) !== before, `${name}: is an edit`)
        assert.ok((await fieldsOf(world))?.includes(kind.field), `${name}: is found by its name`)
        await driver.upsert([ONE], patient())
        assert.equal(await fieldsOf(world), [], `${name}: is mended by one push`)
        assert.equal(await troubles(world), [], `${name}: a phone gets on`)
        if (kind.field !== 'authenticationSubscription.sequenceNumber')
          assert.ok((await stored(world)) === before, `${name}: is as it was`)
      }
    })
  })
}

edits('tells a lost SQN from one that is there, and never lowers one', async () => {
  await withDriver('4.2.3', async (world) => {
    const { driver, look } = world
    const lost = async () => (await driver.compare?.([ONE], patient()))?.get(ONE.imsi)?.isSqnLost
    const held = async () => (await look.collection(COLLECTIONS.auth).findOne({ ueId }))?.sequenceNumber?.sqn
    await driver.upsert([ONE], patient())
    const counted = { $set: { sequenceNumber: '0000000010ff', encOpcKey: 'x' } }
    await look.collection(COLLECTIONS.auth).updateOne({ ueId }, counted)
    assert.is(await lost(), false)
    await driver.upsert([{ ...ONE, sqn: 1n }], patient())
    assert.is(await held(), '0000000010ff')
    await look.collection(COLLECTIONS.auth).updateOne({ ueId }, { $unset: { sequenceNumber: '' } })
    assert.is(await lost(), true)
    await driver.upsert([{ ...ONE, sqn: 0xabcden }], patient())
    assert.is(await held(), '0000000abcde')
    await look.collection(COLLECTIONS.auth).deleteMany({})
    assert.is((await driver.compare?.([ONE], patient()))?.size, 0)
  })
})

edits('makes one document of several, and leaves what the operator has', async () => {
  await withDriver('4.2.3', async (world) => {
    const { driver, look } = world
    await driver.upsert([ONE], patient())
    const before = await stored(world)
    for (const on of ['am', 'selection', 'sm', 'charging', 'identity'] as const) {
      const collection = look.collection(COLLECTIONS[on])
      const { _id, ...copy } = (await collection.findOne({ ueId })) ?? {}
      await collection.insertOne(copy)
    }
    assert.is((await fieldsOf(world))?.filter((field) => field.endsWith(' twice')).length, 5)
    await driver.upsert([ONE], patient())
    assert.ok((await stored(world)) === before)
    const own = { 'dnnConfigurations.internet.staticIpAddress': [{ ipv4Addr: '10.60.0.9' }] }
    await look.collection(COLLECTIONS.sm).updateMany({ ueId }, { $set: own })
    await look
      .collection(COLLECTIONS.am)
      .updateMany({ ueId }, { $set: { 'nssai.singleNssais': [{ sst: 9 }] } })
    await look.collection(COLLECTIONS.sm).insertOne({ ueId, servingPlmnId: PLMN, singleNssai: { sst: 9 } })
    const edited = await stored(world)
    assert.equal(await fieldsOf(world), [])
    await driver.upsert([ONE], patient())
    assert.ok((await stored(world)) === edited)
  })
})

edits('repairs DNNs that were stored with underscores, with what the operator set in them', async () => {
  await withDriver('4.2.3', async (world) => {
    const { driver, look } = world
    await driver.upsert([ONE], patient())
    const [doc] = await look.collection(COLLECTIONS.sm).find({ ueId }).toArray()
    const its = { ueId, singleNssai: doc?.singleNssai }
    const { 'iot.example': dotted, ...others } = doc?.dnnConfigurations ?? {}
    const own = { ...dotted, staticIpAddress: [{ ipv4Addr: '10.60.0.9' }] }
    const $set = { dnnConfigurations: { ...others, iot_example: own } }
    await look.collection(COLLECTIONS.sm).updateOne(its, { $set })
    assert.equal((await driver.observe([ONE.imsi], patient())).get(ONE.imsi)?.apns, [])
    assert.equal(await fieldsOf(world), ['smData.dnnConfigurations'])
    await driver.upsert([ONE], patient())
    const after = await look.collection(COLLECTIONS.sm).findOne(its)
    assert.equal(Object.keys(after?.dnnConfigurations).toSorted(), ['42', 'internet', 'iot.example'])
    assert.is(after?.dnnConfigurations['iot.example'].staticIpAddress[0].ipv4Addr, '10.60.0.9')
    assert.equal(await troubles(world), [])
  })
})

edits(
  'moves documents to the release that is configured, mixed ones too, and back, with their SQN',
  async () => {
    await withDriver('3.4.5', async ({ driver, look }) => {
      let release: Release = '3.4.5'
      const link = mongoLink((await sharedMongo()).url('free5gc'), 'free5gc')
      const network = {
        plmn: () => ({ mcc: '999', mnc: '99' }),
        slices: () => SLICES,
        release: () => release,
      }
      const moved = free5gcDriver({ name: 'core_b', link, ...network })
      const two = subscriber(2, { apns: ONE.apns })
      await driver.upsert([ONE], patient())
      assert.is((await coreReader(look, '3.4.5')).authentication(ueId), undefined)
      release = '4.2.3'
      // A v3 document beside makes no v3 of a new one, and a v4 document no v4 of the others.
      await moved.upsert([two], patient())
      assert.is((await coreReader(look, '4.2.3')).authentication(ueIdOf(two.imsi)), undefined)
      assert.not.ok((await moved.probe(patient())).isOk)
      const seen = await moved.compare?.([ONE, two], patient())
      assert.ok(seen?.get(ONE.imsi)?.fields.includes('authenticationSubscription.encPermanentKey'))
      assert.equal(seen?.get(two.imsi)?.fields, [])
      await look
        .collection(COLLECTIONS.auth)
        .updateOne({ ueId }, { $set: { sequenceNumber: '000000abcdef' } })
      await moved.upsert([ONE], patient())
      assert.is((await coreReader(look, '4.2.3')).authentication(ueId), undefined)
      assert.is(
        (await look.collection(COLLECTIONS.auth).findOne({ ueId }))?.sequenceNumber.sqn,
        '000000abcdef',
      )
      assert.ok((await moved.probe(patient())).isOk)
      release = '3.4.5'
      await moved.upsert([ONE], patient())
      assert.is((await coreReader(look, '3.4.5')).authentication(ueId), undefined)
      assert.is((await look.collection(COLLECTIONS.auth).findOne({ ueId }))?.sequenceNumber, '000000abcdef')
      await moved.close()
    })
  },
)

edits('takes documents along to another network, and leaves none behind', async () => {
  await withDriver('4.2.3', async (world) => {
    const { driver, look, release } = world
    await driver.upsert([ONE], patient())
    const own = { 'dnnConfigurations.internet.staticIpAddress': [{ ipv4Addr: '10.60.0.9' }] }
    await look.collection(COLLECTIONS.sm).updateMany({ ueId }, { $set: own })
    const before = await stored(world)
    const link = mongoLink((await sharedMongo()).url('free5gc'), 'free5gc')
    const network = {
      plmn: () => ({ mcc: '001', mnc: '01' }),
      slices: () => SLICES,
      release: () => release,
    }
    const elsewhere = free5gcDriver({ name: 'core_b', link, ...network })
    await elsewhere.upsert([ONE], patient())
    assert.ok((await stored(world)) === before.replaceAll(`"${PLMN}"`, '"00101"'))
    await driver.upsert([ONE], patient())
    assert.ok((await stored(world)) === before)
    await elsewhere.close()
  })
})

edits('compares a blocked subscriber without lifting the block, and holds no key in a name', async () => {
  await withDriver('4.2.3', async (world) => {
    const { driver, look } = world
    const blocked = { ...ONE, isBlocked: true }
    await driver.upsert([blocked], patient())
    assert.equal(await fieldsOf(world, blocked), [])
    assert.equal(await fieldsOf(world), ['block of policy smData', 'block of smData'])
    await look.collection(COLLECTIONS.sm).deleteMany({})
    await look.collection(COLLECTIONS.auth).updateOne({ ueId }, { $set: { encOpcKey: 'ff'.repeat(16) } })
    const fields = (await fieldsOf(world, blocked)) ?? []
    assert.equal(fields, ['authenticationSubscription.encOpcKey', 'smData'])
    await driver.upsert([blocked], patient())
    assert.equal(await fieldsOf(world, blocked), [])
    assert.is(await look.collection(COLLECTIONS.sm).countDocuments({ ueId }), 0)
  })
})

edits.run()
