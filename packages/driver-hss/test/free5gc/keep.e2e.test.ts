import type { Imsi, Subscriber, SubscriberFound } from '@steeple/contracts'
import { assert, patient, suite } from '@steeple/testkit'
import { Double } from 'bson'
import type { WriteBackDriver } from '../../src/driver.ts'
import { free5gcDriver } from '../../src/free5gc/free5gc-driver.ts'
import { COLLECTIONS } from '../../src/free5gc/names.ts'
import { mongoLink } from '../../src/links/links.ts'
import { type Look, lookInto } from '../support/database.ts'
import { sharedMongo } from '../support/mongo-server.ts'

// The start of the server is no part of a test's time.
await sharedMongo()

/** Subscribers that the web console has made. */
const keep = suite('driver-hss/free5gc/keep')
const IMSI = '999990000000077' as Imsi // 15 digits
const ueId = `imsi-${IMSI}`
const inPlmn = { ueId, servingPlmnId: '99999', tenantId: 'harbour' }
/** 3GPP TS 35.208 test set 1. */
const K = '465B5CE8B199B49FAA5F0A2EE238A6BC'
const OP = 'cdc202d5123e20f62b6d676ac72cb318'
const OPC = 'cd63cb71954a9f4e48a5994e37a02baf'

const n = (value: number): Double => new Double(value)
const dnn = (sessionAmbr: object, more: object = {}) => ({
  pduSessionTypes: { defaultSessionType: 'IPV4', allowedSessionTypes: ['IPV4'] },
  sscModes: { defaultSscMode: 'SSC_MODE_1', allowedSscModes: ['SSC_MODE_2', 'SSC_MODE_3'] },
  '5gQosProfile': {
    '5qi': n(9),
    arp: { priorityLevel: n(8), preemptCap: '', preemptVuln: '' },
    priorityLevel: n(8),
  },
  sessionAmbr,
  ...more,
})
const FAST = { uplink: '1000 Mbps', downlink: '1000 Mbps' }
const SLOW = { uplink: '250 Kbps', downlink: '1 Mbps' }
const plain = { encryptionKey: n(0), encryptionAlgorithm: n(0) }
const one = { sst: n(1), sd: '0A0B0C' }
const bare = { sst: n(1) }

/** As the web console of 4.2 writes one: two slices, one without SD, a static address, rules, an APN with a dot. */
const DOCS: Readonly<Record<string, readonly object[]>> = {
  [COLLECTIONS.auth]: [
    {
      ...{ ueId, tenantId: 'harbour', authenticationMethod: '5G_AKA', authenticationManagementField: '8001' },
      ...{ encPermanentKey: K, encOpcKey: OPC, sequenceNumber: { sqn: '0000000010ff' } },
    },
  ],
  [COLLECTIONS.webAuth]: [
    {
      ...{ ueId, tenantId: 'harbour', authenticationMethod: '5G_AKA', authenticationManagementField: '8001' },
      permanentKey: { permanentKeyValue: K, ...plain },
      milenage: { op: { opValue: OP, ...plain } },
      ...{ opc: { opcValue: '', ...plain }, sequenceNumber: '000000000023' },
    },
  ],
  [COLLECTIONS.am]: [
    {
      ...inPlmn,
      gpsis: ['msisdn-491701', 'extid-a@b'],
      nssai: { defaultSingleNssais: [one], singleNssais: [bare] },
      ...{ subscribedUeAmbr: { uplink: '1 Gbps', downlink: '2 Gbps' }, house: 'harbour 4' },
    },
  ],
  [COLLECTIONS.selection]: [
    {
      ...inPlmn,
      subscribedSnssaiInfos: {
        '010A0B0C': { dnnInfos: [{ dnn: 'internet' }, { dnn: 'iot.example' }] },
        '01': { dnnInfos: [{ dnn: 'ims', lboRoamingAllowed: true }] },
      },
    },
  ],
  [COLLECTIONS.sm]: [
    {
      ...inPlmn,
      singleNssai: one,
      dnnConfigurations: {
        internet: dnn(FAST, { staticIpAddress: [{ ipv4Addr: '10.60.0.77' }] }),
        'iot.example': dnn(SLOW),
      },
    },
    {
      ...inPlmn,
      singleNssai: bare,
      dnnConfigurations: { ims: dnn(FAST, { upSecurity: { upIntegr: 'REQUIRED' } }) },
    },
  ],
  [COLLECTIONS.policyAm]: [{ ueId, subscCats: ['gold'] }],
  [COLLECTIONS.policySm]: [
    {
      ueId,
      smPolicySnssaiData: {
        '010A0B0C': {
          snssai: one,
          smPolicyDnnData: {
            internet: { dnn: 'internet', online: true },
            iot_example: { dnn: 'iot.example' },
          },
        },
        '01': { snssai: bare, smPolicyDnnData: { ims: { dnn: 'ims' } } },
      },
    },
  ],
  [COLLECTIONS.charging]: [
    {
      ...inPlmn,
      snssai: '010A0B0C',
      dnn: '',
      filter: '',
      chargingMethod: 'Online',
      quota: '100000',
      unitCost: '1',
    },
    {
      ...{ ...inPlmn, snssai: '010A0B0C', dnn: 'internet', filter: '1.1.1.1/32', qosRef: n(1) },
      ...{ chargingMethod: 'Offline', quota: '0', unitCost: '1' },
    },
  ],
  [COLLECTIONS.flow]: [
    {
      ...inPlmn,
      filter: '1.1.1.1/32',
      precedence: n(128),
      snssai: '010A0B0C',
      dnn: 'internet',
      qosRef: n(1),
    },
  ],
  [COLLECTIONS.qos]: [
    { ...inPlmn, snssai: '010A0B0C', dnn: 'internet', qosRef: n(1), '5qi': n(8), mbrUL: '208 Mbps' },
  ],
  [COLLECTIONS.identity]: [{ ueId, gpsi: 'msisdn-491701' }],
}

interface World {
  readonly driver: WriteBackDriver
  readonly look: Look
  /** Everything, with the fields of each document in order. */
  world(): Promise<readonly string[]>
}

async function withDocs(
  work: (world: World) => Promise<void>,
  docs: Readonly<Record<string, readonly object[]>> = DOCS,
  release = '4.2.3',
): Promise<void> {
  const url = (await sharedMongo()).url('free5gc')
  const look = await lookInto(url)
  await look.clear()
  for (const [name, list] of Object.entries(docs))
    await look.collection(name).insertMany(list.map((doc) => ({ ...doc })))
  const driver = free5gcDriver({
    name: 'core_b',
    link: mongoLink(url, 'free5gc'),
    plmn: () => ({ mcc: '999', mnc: '99' }),
    // Not those of the documents.
    slices: () => [{ sst: 1, sd: '010203' }],
    release: () => release,
  })
  const world = async (): Promise<readonly string[]> => {
    const lines = (await look.world()).split('\n').map((line) => {
      const [name, text] = [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)]
      return `${name} ${JSON.stringify(sorted(JSON.parse(text)))}`
    })
    return lines.filter((line) => !line.startsWith('steeple ')).toSorted()
  }
  try {
    await work({ driver, look, world })
  } finally {
    await driver.close()
    await look.close()
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(fields.map(([name, part]) => [name, sorted(part)]))
}

async function foundBy(driver: WriteBackDriver): Promise<SubscriberFound> {
  const found = (await driver.whole?.([IMSI], 'with keys', patient()))?.get(IMSI)
  assert.ok(found !== undefined)
  return found
}

/** What taking it over makes of it. */
function taken({ keys, slices, ambrBps, msisdn, isBlocked, text, sqn }: SubscriberFound): Subscriber {
  assert.ok(keys !== undefined && ambrBps !== undefined)
  const apns = [...new Set(slices.flatMap((slice) => slice.apns.map(({ name }) => name)))]
  const number = msisdn === undefined ? {} : { msisdn }
  return {
    imsi: IMSI,
    ki: keys.ki,
    opc: keys.opc,
    sqn: sqn ?? 0n,
    apns,
    ambrBps,
    isBlocked,
    found: text,
    ...number,
  }
}

keep('lists what the web console has made with all that it may, and its keys only when asked', async () => {
  await withDocs(async ({ driver }) => {
    assert.equal(await driver.everybody?.(patient()), [IMSI])
    const bared = (await driver.whole?.([IMSI], 'without keys', patient()))?.get(IMSI)
    const found = await foundBy(driver)
    assert.equal([bared?.keys, bared?.text], [undefined, found.text])
    assert.not.match(found.text, new RegExp(`${K}|${OPC}|${OP}|${IMSI}|10ff`, 'i'))
    assert.equal(
      [found.msisdn, found.amf, found.sqn, found.isBlocked, found.ambrBps],
      ['491701', '8001', 0x10ffn, false, { up: 1e9, down: 2e9 }],
    )
    assert.equal(Buffer.from(found.keys?.opc ?? []).toString('hex'), OPC)
    const rate = { up: 1e9, down: 1e9 }
    assert.equal(found.slices, [
      {
        ...{ sst: 1, sd: '0A0B0C', isDefault: true },
        apns: [
          { name: 'internet', ambrBps: rate, qos: 9, addresses: ['10.60.0.77'] },
          { name: 'iot.example', ambrBps: { up: 250_000, down: 1_000_000 }, qos: 9, addresses: [] },
        ],
      },
      {
        ...{ sst: 1, sd: undefined, isDefault: false },
        apns: [{ name: 'ims', ambrBps: rate, qos: 9, addresses: [] }],
      },
    ])
  })
})

keep('leaves one that was taken over as it is, and puts it back after a block', async () => {
  await withDocs(async ({ driver, world }) => {
    const mine = taken(await foundBy(driver))
    const before = await world()
    assert.equal((await driver.compare?.([mine], patient()))?.get(IMSI), { fields: [], isSqnLost: false })
    await driver.upsert([mine], patient())
    assert.equal(await world(), before)
    await driver.upsert([{ ...mine, isBlocked: true }], patient())
    assert.is((await foundBy(driver)).isBlocked, true)
    assert.is((await foundBy(driver)).text, mine.found)
    await driver.upsert([mine], patient())
    assert.equal(await world(), before)
  })
})

keep('changes only what the SIM says otherwise, and has it back as it was', async () => {
  await withDocs(async ({ driver, world, look }) => {
    const mine = taken(await foundBy(driver))
    const before = await world()
    const slow = {
      ...mine,
      ambrBps: { up: 500_000, down: 500_000 },
      apns: ['internet', 'ims'],
      msisdn: '491702',
    }
    await driver.upsert([slow], patient())
    assert.equal((await driver.compare?.([slow], patient()))?.get(IMSI)?.fields, [])
    const found = await foundBy(driver)
    assert.equal([found.msisdn, found.ambrBps], ['491702', slow.ambrBps])
    assert.equal(
      found.slices.flatMap(({ apns }) => apns.map(({ name, ambrBps }) => [name, ambrBps])),
      [
        ['internet', { up: 500_000, down: 500_000 }],
        ['ims', { up: 500_000, down: 500_000 }],
      ],
    )
    assert.is(String((await look.collection(COLLECTIONS.identity).findOne({ ueId }))?.gpsi), 'msisdn-491702')
    await driver.upsert([mine], patient())
    assert.equal(await world(), before)
  })
})

keep('gets back whole what the database has lost, and what the core needs', async () => {
  await withDocs(async ({ driver, world, look }) => {
    const mine = taken(await foundBy(driver))
    const later = { ...mine, sqn: 0x20000n }
    for (const name of Object.values(COLLECTIONS)) await look.collection(name).deleteMany({})
    assert.is((await driver.compare?.([mine], patient()))?.size, 0)
    await driver.upsert([later], patient())
    const found = await foundBy(driver)
    assert.equal([found.text, found.sqn], [mine.found, 0x20000n])
    const restored = await world()
    await look.collection(COLLECTIONS.sm).deleteMany({})
    await look.collection(COLLECTIONS.flow).deleteMany({})
    assert.equal((await driver.compare?.([later], patient()))?.get(IMSI)?.fields, ['smData'])
    await driver.upsert([later], patient())
    assert.equal(
      await world(),
      restored.filter((line) => !line.startsWith(COLLECTIONS.flow)),
    )
  })
})

keep('writes keys back that somebody has changed, and nothing else', async () => {
  await withDocs(async ({ driver, look, world }) => {
    const mine = taken(await foundBy(driver))
    const before = await world()
    const wrong = { $set: { encOpcKey: '00'.repeat(16) } }
    await look.collection(COLLECTIONS.auth).updateOne({ ueId }, wrong)
    await driver.upsert([mine], patient())
    const lower = before.map((line) =>
      line.startsWith(COLLECTIONS.auth) ? line.replace(K, K.toLowerCase()) : line,
    )
    assert.equal(await world(), lower)
  })
})

for (const [release, changes] of [
  ['3.4.5', []],
  [
    '4.2.3',
    ['permanentKey', 'opc', 'milenage', 'encPermanentKey', 'encOpcKey', 'sequenceNumber'].map(
      (name) => `authenticationSubscription.${name}`,
    ),
  ],
] as const)
  keep(`takes one of release 3.4 with OP over as it is, or as ${release} reads it`, async () => {
    const { [COLLECTIONS.webAuth]: web = [], ...rest } = DOCS
    await withDocs(
      async ({ driver, world }) => {
        const found = await foundBy(driver)
        assert.equal([found.keys?.isOp, found.sqn], [true, 0x23n])
        assert.is(Buffer.from(found.keys?.opc ?? []).toString('hex'), OPC)
        const mine = taken(found)
        const before = await world()
        const { fields = [] } = (await driver.compare?.([mine], patient()))?.get(IMSI) ?? {}
        assert.equal(fields.toSorted(), changes.toSorted())
        await driver.upsert([mine], patient())
        if (changes.length === 0) assert.equal(await world(), before)
        assert.equal((await driver.compare?.([mine], patient()))?.get(IMSI)?.fields, [])
        assert.is((await foundBy(driver)).sqn, 0x23n)
      },
      { ...rest, [COLLECTIONS.auth]: web },
      release,
    )
  })

keep('says of one without keys why it cannot be taken over', async () => {
  await withDocs(
    async ({ driver }) => {
      const found = await foundBy(driver)
      assert.match(found.problem ?? '', /K, OPc or OP cannot be read/)
    },
    { [COLLECTIONS.auth]: [{ ueId, tenantId: 'harbour' }] },
  )
})

keep.run()
