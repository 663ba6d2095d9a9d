import { readFileSync } from 'node:fs'
import type { Imsi, Subscriber, SubscriberFound } from '@steeple/contracts'
import { assert, suite } from '@steeple/testkit'
import { Double, EJSON, Int32, Long } from 'bson'
import fc from 'fast-check'
import type { Doc, DocumentLink, WriteOp } from '../../src/links/document-link.ts'
import { foundOf } from '../../src/open5gs/found.ts'
import { differencesOf, open5gsDriver } from '../../src/open5gs/open5gs-driver.ts'
import { blockWrites, unblockWrites, upsertWrites } from '../../src/open5gs/writes.ts'

const keep = suite('driver-hss/open5gs/keep')
const IMSI = '999990000000077' as Imsi // 15 digits
/** The slices of this node, which are not those of the documents. */
const SLICES = [{ sst: 1 }, { sst: 1, sd: '0000ff' }]
/** 3GPP TS 35.208 test set 1. */
const KEYS = { k: '465b5ce8b199b49faa5f0a2ee238a6bc', op: 'cdc202d5123e20f62b6d676ac72cb318' }
const OPC = 'cd63cb71954a9f4e48a5994e37a02baf'

function found(doc: Doc): SubscriberFound {
  const one = foundOf(doc, 'with keys')
  assert.ok(one !== undefined)
  return one
}

/** What taking it over makes of a document. */
function taken(doc: Doc, more: Partial<Subscriber> = {}): Subscriber {
  const { keys, slices, ambrBps, msisdn, isBlocked, text, sqn } = found(doc)
  assert.ok(keys !== undefined)
  const names = [...new Set(slices.flatMap(({ apns }) => apns.map(({ name }) => name)))]
  return {
    imsi: IMSI,
    ...{ ki: keys.ki, opc: keys.opc, sqn: sqn ?? 0n, isBlocked, found: text },
    apns: names.length === 0 ? ['internet'] : names,
    ambrBps: ambrBps ?? { up: 1_000_000, down: 1_000_000 },
    ...(msisdn === undefined ? {} : { msisdn }),
    ...more,
  }
}

/** A document after writes, as the server leaves it. */
function after(doc: Doc | undefined, writes: readonly WriteOp[]): Doc {
  let now: Record<string, unknown> = { ...doc, imsi: IMSI }
  for (const write of writes) {
    assert.ok('updateOne' in write)
    const { $set = {}, $unset = {}, $setOnInsert = {} } = write.updateOne.update as Record<string, Doc>
    const all = { ...$set, ...(doc === undefined ? $setOnInsert : {}) }
    for (const [path, value] of Object.entries(all)) {
      const [head = '', leaf] = path.split('.')
      now = { ...now, [head]: leaf === undefined ? value : { ...(now[head] as Doc), [leaf]: value } }
    }
    now = Object.fromEntries(Object.entries(now).filter(([name]) => !(name in $unset)))
  }
  return now
}

const same = (one: Doc, other: Doc): void => {
  assert.is(found(one).text, found(other).text)
  assert.equal(found(one).keys?.ki, found(other).keys?.ki)
  assert.equal(found(one).keys?.opc, found(other).keys?.opc)
}
const sortedText = (text: string): unknown => EJSON.parse(text, { relaxed: false })

const rate = fc.record({
  value: fc.integer({ min: 1, max: 2_000 }).map((n) => new Int32(n)),
  unit: fc.integer({ min: 1, max: 3 }).map((n) => new Int32(n)),
})
const ambr = fc.record({ downlink: rate, uplink: rate })
const session = fc.record(
  {
    name: fc.constantFrom('internet', 'corp', 'ims', 'Meter.Reading'),
    type: fc.constantFrom(new Int32(1), new Int32(3)),
    ambr,
    qos: fc.constant({
      index: new Int32(7),
      arp: {
        priority_level: new Int32(2),
        pre_emption_capability: new Int32(2),
        pre_emption_vulnerability: new Int32(1),
      },
    }),
    ue: fc.constantFrom({ ipv4: '10.45.0.66' }, { ipv6: 'fd00::66' }),
    pcc_rule: fc.constantFrom(
      [],
      [{ flow: [{ direction: new Int32(1), description: 'permit out ip from any to assigned' }] }],
    ),
    lbo_roaming_allowed: fc.boolean(),
    a_field_of_theirs: fc.string(),
  },
  { requiredKeys: ['name', 'ambr'] },
)
const slice = fc.record(
  {
    sst: fc.constantFrom(new Int32(1), new Int32(2)),
    sd: fc.constantFrom('000001', 'ABCDEF'),
    default_indicator: fc.boolean(),
    session: fc.array(session, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: ['sst', 'session'] },
)
const security = fc
  .tuple(fc.boolean(), fc.boolean(), fc.constantFrom('8000', '9001'))
  .map(([isOp, hasBlanks, amf]) => {
    const k = hasBlanks ? '465B5CE8 B199B49F AA5F0A2E E238A6BC' : KEYS.k
    return {
      k,
      ...(isOp ? { op: KEYS.op, opc: null } : { op: null, opc: OPC }),
      amf,
      sqn: Long.fromNumber(97_000),
    }
  })
const document = fc
  .record(
    {
      security,
      ambr,
      slice: fc.array(slice, { minLength: 1, maxLength: 2 }),
      msisdn: fc.constantFrom([], ['491700000001'], ['491700000001', '491700000002']),
      schema_version: fc.constant(new Int32(1)),
      subscriber_status: fc.constantFrom(new Int32(0), new Int32(1)),
      access_restriction_data: fc.constant(new Int32(47)),
      imeisv: fc.constant(['3534900698733190']),
      department: fc.string(),
    },
    { requiredKeys: ['security', 'ambr', 'slice', 'schema_version'] },
  )
  .map((doc): Doc => ({ imsi: IMSI, ...doc }))

keep('writes nothing of one that was taken over, and finds no difference', () => {
  fc.assert(
    fc.property(document, (doc) => {
      assert.equal(upsertWrites(taken(doc), doc, SLICES), [])
      assert.equal(differencesOf(taken(doc), doc, SLICES), { fields: [], isSqnLost: false })
    }),
  )
})

keep('loses no field of it when the database has lost it', () => {
  fc.assert(
    fc.property(document, (doc) => {
      const again = after(undefined, upsertWrites(taken(doc), undefined, SLICES))
      const [had, has] = [found(doc), found(again)]
      const { security: hadKeys, ...rest } = sortedText(had.text) as Doc
      const { security: hasKeys, ...now } = sortedText(has.text) as Doc
      assert.equal(hasKeys, hadKeys)
      for (const [name, value] of Object.entries(rest)) assert.equal(now[name], value, name)
      assert.equal([has.keys?.ki, has.keys?.opc, has.sqn], [had.keys?.ki, had.keys?.opc, had.sqn])
    }),
  )
})

keep('brings it back as it was from a block, and from lower rates', () => {
  fc.assert(
    fc.property(document, (doc) => {
      const blocked = after(doc, blockWrites(doc))
      assert.ok(found(blocked).isBlocked)
      assert.equal(
        upsertWrites(taken(doc, { isBlocked: true }), blocked, SLICES),
        [],
        'a block is left alone',
      )
      same(after(blocked, unblockWrites(blocked) ?? []), doc)
      same(after(blocked, upsertWrites(taken(doc), blocked, SLICES)), doc)
      const slow = after(doc, upsertWrites(taken(doc, { ambrBps: { up: 1, down: 1 } }), doc, SLICES))
      for (const { apns } of found(slow).slices)
        for (const { ambrBps } of apns) assert.equal(ambrBps, { up: 1, down: 1 })
      same(after(slow, upsertWrites(taken(doc), slow, SLICES)), doc)
    }),
  )
})

keep('keeps a document that dbctl and the core have written, field by field', () => {
  for (const name of ['subscriber.after-dbctl-add', 'subscriber.after-attach']) {
    const file = new URL(`../fixtures/${name}.ejson-canonical.json`, import.meta.url)
    const doc = EJSON.parse(readFileSync(file, 'utf8'), { relaxed: false }) as Doc
    const main = upsertWrites(taken(doc), doc, SLICES)
    const fields = differencesOf(taken(doc), doc, SLICES).fields
    // dbctl writes no SQN: the core counts from 0 then, and writes its own at the first attach.
    assert.equal([main.length, fields], [0, []])
    assert.is(differencesOf(taken(doc), doc, SLICES).isSqnLost, false)
  }
})

keep('leaves a document of before Open5GS 2 as it is: nobody gets on with it', () => {
  const legacy = {
    imsi: IMSI,
    security: { k: KEYS.k, op: null, opc: OPC, amf: '8000', sqn: Long.fromNumber(96) },
    ambr: { uplink: Long.fromNumber(1_024_000), downlink: Long.fromNumber(1_024_000) },
    pdn: [{ apn: 'internet', type: new Int32(0) }],
  }
  assert.ok(found(legacy).isBlocked)
  assert.equal(differencesOf(taken(legacy), legacy, SLICES), { fields: [], isSqnLost: false })
})

keep('mends numbers of a type that the core does not read, and keeps their value', () => {
  const double = (value: number) => ({ value: new Double(value), unit: new Double(2) })
  const doc = {
    imsi: IMSI,
    schema_version: new Int32(1),
    security: { k: KEYS.k, op: null, opc: OPC, amf: '8000', sqn: new Double(4096) },
    ambr: { downlink: double(50), uplink: double(5) },
    slice: [{ sst: new Int32(1), session: [{ name: 'internet' }] }],
  }
  assert.equal(found(doc).ambrBps, { down: 50_000_000, up: 5_000_000 })
  assert.equal(differencesOf(taken(doc), doc, SLICES).fields, ['AMBR', 'SQN'])
  const mended = after(doc, upsertWrites(taken(doc), doc, SLICES))
  assert.equal(differencesOf(taken(mended), mended, SLICES), { fields: [], isSqnLost: false })
  assert.equal([found(mended).ambrBps, found(mended).sqn], [found(doc).ambrBps, 4096n])
})

keep('tells what a subscriber may, and why one cannot be taken over', () => {
  const doc = {
    imsi: IMSI,
    schema_version: new Int32(1),
    security: { k: KEYS.k, op: KEYS.op, opc: null, amf: '9001', sqn: Long.fromNumber(97_000) },
    msisdn: ['491700000001'],
    ambr: {
      downlink: { value: new Int32(5), unit: new Int32(2) },
      uplink: { value: new Int32(1), unit: new Int32(2) },
    },
    slice: [
      {
        sst: new Int32(1),
        sd: '000001',
        default_indicator: true,
        session: [{ name: 'corp', ambr: {}, qos: { index: new Int32(5) }, ue: { ipv4: '10.45.0.66' } }],
      },
    ],
  }
  const { keys, text, ...rest } = found(doc)
  assert.equal(rest, {
    slices: [
      {
        sst: 1,
        sd: '000001',
        isDefault: true,
        apns: [{ name: 'corp', ambrBps: undefined, qos: 5, addresses: ['10.45.0.66'] }],
      },
    ],
    ...{ ambrBps: { up: 1_000_000, down: 5_000_000 }, msisdn: '491700000001', isBlocked: false },
    ...{ sqn: 97_000n, amf: '9001', problem: undefined },
  })
  assert.equal([Buffer.from(keys?.opc ?? []).toString('hex'), keys?.isOp], [OPC, true])
  assert.not.match(text, new RegExp(`${KEYS.k}|${KEYS.op}|${OPC}|${IMSI}`))
  const keyless = { ...doc, security: { ...doc.security, op: null } }
  assert.match(found(keyless).problem ?? '', /its K, OPc or OP cannot be read/)
  assert.is(foundOf(keyless, 'without keys')?.problem, undefined)
  assert.is(foundOf({ imsi: IMSI, imeisv: [] }, 'with keys'), undefined)
})

/** A database of one document, which gives only the fields that it is asked for. */
function databaseOf(doc: Doc): { readonly link: DocumentLink; readonly doc: () => Doc } {
  let held = doc
  const given = (projection: Doc): Doc => {
    const paths = Object.keys(projection)
    if (paths.length === 0) return held
    const security = Object.entries(held.security as Doc).filter(([leaf]) =>
      paths.includes(`security.${leaf}`),
    )
    const rest = Object.entries(held).filter(([name]) => paths.includes(name))
    return { ...Object.fromEntries(rest), security: Object.fromEntries(security) }
  }
  return {
    doc: () => held,
    link: {
      ...{ where: 'memory', writes: 0, pace: { everyMs: 1_000, awayMs: 1_000 } },
      find: async (_collection, _filter, projection) => [given(projection)],
      write: async (_collection, ops) => {
        held = after(held, ops)
        return ops.map(() => undefined)
      },
      count: async () => 1,
      ensureIndex: async () => 'ok',
      drop: async () => undefined,
      close: async () => undefined,
    },
  }
}

keep('keeps OP as OP in the document of one that was taken over, whenever it is pushed', async () => {
  const security = { k: KEYS.k, op: KEYS.op, opc: null, amf: '9001', sqn: Long.fromNumber(97_000) }
  const slice = [{ sst: new Int32(1), session: [{ name: 'internet', ambr: {} }] }]
  const ambr = {
    downlink: { value: new Int32(5), unit: new Int32(2) },
    uplink: { value: new Int32(1), unit: new Int32(2) },
  }
  const { link, doc } = databaseOf({ imsi: IMSI, schema_version: new Int32(1), security, ambr, slice })
  const driver = open5gsDriver({ name: 'docdb_shell', link, slices: () => SLICES })
  const { signal } = new AbortController()
  const one = taken(doc())
  assert.equal([...(await driver.upsert([one], signal)).values()], [undefined])
  assert.equal(doc().security, security)
  await driver.upsert([{ ...one, ambrBps: { up: 2_000_000, down: 6_000_000 } }], signal)
  assert.equal([doc().security, found(doc()).ambrBps?.up], [security, 2_000_000])
  const other = { ...one, opc: new Uint8Array(16).fill(7) }
  await driver.upsert([other], signal)
  assert.equal((doc().security as Doc).op, null, 'other keys are written as OPc')
})

keep('leaves one that its operator blocked by taking its slices away', () => {
  const doc = {
    ...{ imsi: IMSI, schema_version: new Int32(1), slice: [], ambr: {} },
    security: { k: KEYS.k, opc: OPC, amf: '8000', sqn: Long.fromNumber(1) },
  }
  const one = taken(doc, { ambrBps: { up: 1_000, down: 1_000 } })
  assert.ok(one.isBlocked)
  const blocked = after(doc, upsertWrites(one, doc, SLICES))
  assert.equal(blocked.slice, [])
  const open = after(blocked, upsertWrites({ ...one, isBlocked: false }, blocked, SLICES))
  assert.equal(
    found(open).slices.map(({ sst, sd }) => [sst, sd]),
    [
      [1, undefined],
      [1, '0000ff'],
    ],
  )
})

keep.run()
