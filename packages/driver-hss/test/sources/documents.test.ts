import { readFileSync } from 'node:fs'
import type { Imsi, Subscriber, SubscriberFound } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { EJSON } from 'bson'
import { documentSource } from '../../src/sources/documents.ts'
import { free5gcDocs, open5gsDoc } from '../../src/texts.ts'

const documents = suite('driver-hss/sources/documents')
const signal = AbortSignal.timeout(60_000)
const FILE = new URL('../fixtures/subscriber.after-attach.ejson-canonical.json', import.meta.url)
const canonical = readFileSync(FILE, 'utf8')
const relaxed = EJSON.stringify(EJSON.parse(canonical, { relaxed: false }), { relaxed: true })

async function foundIn(...texts: readonly string[]): Promise<readonly [Imsi, SubscriberFound][]> {
  const source = documentSource(texts)
  const imsis = await source.everybody(signal)
  return [...(await source.whole(imsis, 'with keys', signal))]
}

function taken(imsi: Imsi, { text }: SubscriberFound): Pick<Subscriber, 'imsi' | 'ambrBps' | 'found'> {
  return { imsi, ambrBps: { up: 1, down: 1 }, found: text }
}

const ueId = 'imsi-999990000000077'
const inPlmn = { ueId, servingPlmnId: '99999' }
const OPC = 'cd63cb71954a9f4e48a5994e37a02baf'
/** One of free5GC, a document of each collection a line, in relaxed form: no number says that it is a double. */
const FREE5GC = [
  { ...inPlmn, filter: '1.1.1.1/32', precedence: 128, snssai: '01010203', dnn: 'internet', qosRef: 1 },
  {
    ...{ ueId, authenticationMethod: '5G_AKA', authenticationManagementField: '8001' },
    permanentKey: { permanentKeyValue: '465b5ce8b199b49faa5f0a2ee238a6bc' },
    ...{ milenage: { op: { opValue: 'cdc202d5123e20f62b6d676ac72cb318' } }, sequenceNumber: '000000000023' },
  },
  {
    ...inPlmn,
    ...{ gpsis: ['msisdn-491701'], nssai: { defaultSingleNssais: [{ sst: 1, sd: '010203' }] } },
    subscribedUeAmbr: { uplink: '1 Gbps', downlink: '2 Gbps' },
  },
  {
    ...{ ...inPlmn, ueId: `suspended-${ueId}` },
    singleNssai: { sst: 1, sd: '010203' },
    dnnConfigurations: {
      internet: {
        '5gQosProfile': { '5qi': 7 },
        sessionAmbr: { uplink: '500 Mbps', downlink: '1000 Mbps' },
        staticIpAddress: [{ ipv4Addr: '10.60.0.7' }],
      },
    },
  },
].map((doc) => JSON.stringify(doc))

documents('reads lines, lists and files of many lines, canonical or relaxed, to the same', async () => {
  const [[imsi, one] = []] = await foundIn(canonical)
  assert.ok(imsi !== undefined && one?.keys !== undefined && one.sqn !== undefined)
  const line = EJSON.stringify(EJSON.parse(canonical, { relaxed: false }), { relaxed: false })
  for (const text of [
    line,
    `[${line}]`,
    `\uFEFF[\n${line},\n${line}\n]\n`,
    relaxed,
    JSON.stringify(JSON.parse(relaxed), null, 2),
  ]) {
    const [[other, read] = [], ...rest] = await foundIn(text)
    assert.equal([other, rest], [imsi, []])
    assert.equal(read, one)
  }
})

documents('joins the collections of free5GC, in any order and in any number of files', async () => {
  const together = await foundIn(FREE5GC.join('\n'))
  assert.equal(await foundIn(...FREE5GC.toReversed().map((line) => `[${line}]`)), together)
  const [[, found] = []] = together
  assert.ok(found !== undefined)
  assert.equal(
    [found.msisdn, found.sqn, found.amf, found.isBlocked, found.keys?.isOp],
    ['491701', 0x23n, '8001', true, true],
  )
  assert.is(Buffer.from(found.keys?.opc ?? []).toString('hex'), OPC)
  // The PCF reads a precedence as a double alone.
  assert.match(found.text, /"precedence":\{"\$numberDouble":"128.0"\}/)
})

documents('gives each core in its own words what the other one held', async () => {
  const [[imsi, found] = []] = await foundIn(FREE5GC.join('\n'))
  assert.ok(imsi !== undefined && found !== undefined)
  const made = open5gsDoc(taken(imsi, found))
  const [[, again] = []] = await foundIn(EJSON.stringify({ imsi, ...made }, { relaxed: false }))
  assert.equal(
    [again?.slices, again?.ambrBps, again?.msisdn, again?.amf],
    [...[found.slices, found.ambrBps, found.msisdn, found.amf]],
  )
  const [[own, open5gs] = []] = await foundIn(canonical)
  assert.ok(own !== undefined && open5gs !== undefined)
  const docs = [...(free5gcDocs(taken(own, open5gs), '99999') ?? [])].flatMap(([, list]) => list)
  const lines = docs.map((doc) => EJSON.stringify({ ueId: `imsi-${own}`, ...doc }, { relaxed: false }))
  const [[, back] = []] = await foundIn(lines.join('\n'))
  assert.equal([back?.slices, back?.ambrBps, back?.amf], [open5gs.slices, open5gs.ambrBps, open5gs.amf])
})

documents('says where a file is no JSON, and when nobody is in it, without a word of it', () => {
  assert.throws(
    () => documentSource([`${relaxed}\nimsi;ki;opc`]),
    /line 2 is no JSON as mongoexport writes it/,
  )
  assert.throws(() => documentSource(['{"a":1}', '\n{"b":']), /line 2 of file 2 is no JSON/)
  assert.throws(
    () => documentSource(['{"username":"admin"}']),
    /no document in it is a subscriber of Open5GS/,
  )
})

documents.run()
