import {
  type Context,
  healthBoardRef,
  type Imsi,
  type ImsiHash,
  type Subscriber,
  type SubscriberFound,
  type SubscriberSource,
  type SubscriberSources,
  subscriberSourcesRef,
  subscribersRef,
  systemPrincipal,
  validationFailed,
} from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  driverPlugin,
  eventually,
  type FakeHss,
  fakeHss,
  type InlinePlugin,
  loadTestbed,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { plugin } from '../src/plugin.ts'
import type { SimBody } from './support/answers.ts'

interface Report {
  readonly adopted: number
  readonly failed: number
  readonly left: number
  readonly batch_id: string | null
  readonly results: readonly {
    readonly imsi_sha256_12: string
    readonly status: string
    readonly error: string | null
    readonly changes: readonly string[]
    readonly is_unchanged: boolean | null
  }[]
}

const http = suite('sims/adopt-http')
let bed: Testbed
let hss: FakeHss
let beside: Context

/** A plugin that is there to slow SIMs down. */
const slower: InlinePlugin = {
  ...{ name: '@example/slower', version: '1.0.0' },
  plugin: {
    setup: async (context) => {
      beside = context
      return {}
    },
  },
  manifest: {
    id: 'slower',
    kind: 'feature',
    contracts: '*',
    config_path: 'slower',
    handover: 'overlap',
    requires: ['sims.subscribers'],
  },
}
/** Whom another core has, which is only looked at. */
const others = new Map<Imsi, Subscriber>()
const otherCore: SubscriberSource = {
  name: 'ella',
  everybody: async () => [...others.keys()],
  whole: async (imsis, what) =>
    new Map(
      imsis.flatMap((one) => {
        const row = others.get(one)
        if (row === undefined) return []
        const found = foundOf(row)
        return [[one, what === 'with keys' ? found : { ...found, keys: undefined }] as const]
      }),
    ),
}
const sources: SubscriberSources = {
  documents: (texts) => {
    if (texts.some((text) => text !== 'exported')) throw validationFailed('line 1 is no JSON')
    return { ...otherCore, name: 'documents' }
  },
  other: () => (others.size === 0 ? undefined : otherCore),
}
/** A plugin that knows of other cores. */
const beyond: InlinePlugin = {
  ...{ name: '@example/beyond', version: '1.0.0' },
  plugin: { setup: async () => ({ services: new Map([[subscriberSourcesRef.id, sources]]) }) },
  manifest: {
    id: 'beyond',
    kind: 'feature',
    contracts: '*',
    config_path: 'beyond',
    handover: 'overlap',
    provides: [subscriberSourcesRef.id],
  },
}
/** Fields that a push would write anew, by IMSI. */
const differing = new Map<Imsi, readonly string[]>()

const imsi = (number: number): Imsi => parseImsi(`99999${String(number).padStart(10, '0')}`)!
const hashOf = (number: number): string => imsiHash(imsi(number))

/** Somebody whom the core has, and this node does not know. */
function stranger(number: number, more: Partial<Subscriber> = {}): void {
  hss.held.set(imsi(number), {
    imsi: imsi(number),
    ki: Buffer.alloc(16, number),
    opc: Buffer.alloc(16, number + 1),
    sqn: 97_000n,
    apns: ['corp', 'internet'],
    ambrBps: { up: 1_000_000, down: 2_000_000 },
    isBlocked: false,
    ...more,
  })
}

function foundOf({ imsi: _, ki, opc, sqn, apns, ...rest }: Subscriber): SubscriberFound {
  const slice = { sst: 1, sd: '0000ff', isDefault: true }
  const addresses = ['10.45.0.66']
  return {
    ...{ msisdn: undefined, ...rest },
    slices:
      apns.length === 0
        ? []
        : [{ ...slice, apns: apns.map((name) => ({ name, ambrBps: undefined, qos: 9, addresses })) }],
    keys: { ki: Uint8Array.from(ki), opc: Uint8Array.from(opc), isOp: false },
    ...{ sqn, amf: '8000', problem: undefined },
    text: JSON.stringify({ apns, department: 'harbour' }),
  }
}

http.before(
  async () => {
    const { startTestbed } = await loadTestbed()
    hss = fakeHss()
    hss.everybody = async () => [...hss.held.keys()]
    hss.whole = async (imsis, what) =>
      new Map(
        imsis.flatMap((one) => {
          const row = hss.held.get(one)
          if (row === undefined) return []
          const found = foundOf(row)
          return [[one, what === 'with keys' ? found : { ...found, keys: undefined }] as const]
        }),
      )
    hss.compare = async (all) =>
      new Map(all.map((one) => [one.imsi, { fields: differing.get(one.imsi) ?? [], isSqnLost: false }]))
    bed = await startTestbed({
      plugins: [await pluginFrom(import.meta.url, plugin), driverPlugin('hss', hss), slower, beyond],
    })
  },
  { limitMs: 360_000 },
)
http.before.each(() => {
  hss.held.clear()
  differing.clear()
  others.clear()
  hss.calls.length = 0
})
http.after(() => bed.stop())

const adopt = async (body: object): Promise<Report> =>
  bodyOf(await bed.request('POST', '/v1/sims/adopt', { body }))
const foreign = async (
  query = '',
): Promise<{
  subscribers: { imsi_sha256_12: string }[]
  next_cursor: string | null
  total: number | null
  problem: string | null
}> => bodyOf(await bed.request('GET', `/v1/sims/foreign${query}`))
const writes = (): readonly string[] => hss.calls.filter((call) => !call.startsWith('observe'))

http('tells numbers and static addresses only to those who may adopt', async () => {
  stranger(1, { msisdn: '491700000001' })
  const seenBy = async (role: 'viewer' | 'operator' | 'sim:issuer'): Promise<string> => {
    const token = bed.credential({ kind: 'token', id: `foreign-${role}`, roles: [role] })
    return JSON.stringify((await bed.request('GET', '/v1/sims/foreign', { token })).body)
  }
  for (const role of ['viewer', 'operator'] as const) {
    const seen = await seenBy(role)
    assert.match(seen, hashOf(1))
    assert.not.match(seen, /491700000001|10\.45\.0\.66/)
  }
  assert.match(await seenBy('sim:issuer'), /491700000001.*10\.45\.0\.66/)
})

http('lists whom the core has and this node does not, page by page, without an IMSI or a key', async () => {
  for (const number of [1, 2, 3]) stranger(number, { msisdn: '491700000001' })
  const all = await foreign()
  assert.is(all.total, 3)
  assert.equal(all.subscribers.map((one) => one.imsi_sha256_12).toSorted(), [1, 2, 3].map(hashOf).toSorted())
  assert.equal(
    { ...all.subscribers[0], imsi_sha256_12: '' },
    {
      imsi_sha256_12: '',
      ...{ can_adopt: true, problem: null, msisdn: '491700000001', is_blocked: false },
      ...{ downlink_bps: 2_000_000, uplink_bps: 1_000_000, amf: '8000' },
      slices: [
        {
          ...{ sst: 1, sd: '0000ff', is_default: true },
          apns: ['corp', 'internet'].map((name) => ({
            ...{ name, downlink_bps: null, uplink_bps: null, qos: 9, addresses: ['10.45.0.66'] },
          })),
        },
      ],
    },
  )
  assert.not.match(JSON.stringify(all), /99999\d{10}|(01){16}/)
  const one = await foreign('?limit=2')
  const rest = await foreign(`?limit=2&cursor=${one.next_cursor}`)
  assert.equal([...one.subscribers, ...rest.subscribers], all.subscribers)
  assert.is(rest.next_cursor, null)
})

http('shows in a dry run what it would do, and does nothing', async () => {
  stranger(11)
  stranger(12)
  differing.set(imsi(12), ['SQN'])
  const dry = await adopt({ all: true, dry_run: true })
  assert.equal([dry.adopted, dry.failed, dry.left, dry.batch_id], [2, 0, 0, null])
  const changes = new Map(dry.results.map((one) => [one.imsi_sha256_12, one.changes]))
  assert.equal([changes.get(hashOf(11)), changes.get(hashOf(12))], [[], ['SQN']])
  assert.is((await bed.request('GET', `/v1/sims/${hashOf(11)}`)).status, 404)
  assert.is((await foreign()).total, 2)
  assert.equal(writes(), [])
})

http('takes over those that are named, with all that they have, and writes nothing to the core', async () => {
  stranger(21, { msisdn: '491700000021' })
  stranger(22)
  const before = new Map(hss.held)
  const done = await adopt({ ids: [hashOf(21)], label: 'from before ####' })
  assert.equal([done.adopted, done.failed, done.left], [1, 0, 1])
  assert.equal(done.results[0], {
    ...{ imsi_sha256_12: hashOf(21), status: 'adopted', error: null, changes: [], is_unchanged: true },
  })
  const sim = bodyOf<
    SimBody & {
      msisdn: string
      ambr: object
      in_core: object | null
      adopted_at: string | null
      issued_at: string
    }
  >(await bed.request('GET', `/v1/sims/${hashOf(21)}`))
  assert.equal(
    [sim.state, sim.apns, sim.msisdn, sim.label, sim.expires_at, sim.ambr, sim.batch_id],
    [
      ...[
        'issued',
        ['corp', 'internet'],
        '491700000021',
        `from before ${imsi(21).slice(-4)}`,
        '9999-12-31T23:59:59.000Z',
      ],
      { downlink_bps: 2_000_000, uplink_bps: 1_000_000 },
      done.batch_id,
    ],
  )
  assert.is(sim.provisioning.status, 'synced')
  assert.equal(sim.in_core, { slices: ['1-0000ff'], fixed_addresses: ['10.45.0.66'] })
  assert.ok(sim.adopted_at !== null && sim.adopted_at === sim.issued_at, 'it was taken over then, not issued')
  assert.equal(
    (await foreign()).subscribers.map((one) => one.imsi_sha256_12),
    [hashOf(22)],
  )
  assert.equal(writes(), [])
  assert.equal(new Map(hss.held), before)
  const entries = (await bed.audit()).filter(({ action }) => action === 'sim.adopt')
  assert.equal(entries[0]?.detail, { adopted: 1, failed: 0, from: hss.name, ids: [hashOf(21)] })
  assert.not.match(JSON.stringify(entries), /99999\d{10}/)
})

http(
  'keeps the keys of one that it has taken over, and gives back all of it to a core that lost it',
  async () => {
    stranger(31)
    await adopt({ all: true })
    const { ki, opc } = hss.held.get(imsi(31))!
    hss.held.clear()
    hss.compare = undefined as never
    hss.changed?.()
    await eventually(() => assert.ok(hss.held.has(imsi(31))))
    const again = hss.held.get(imsi(31))
    assert.is(hss.keys.get(imsi(31)), Buffer.concat([ki, opc]).toString('hex'))
    assert.is(again?.found, JSON.stringify({ apns: ['corp', 'internet'], department: 'harbour' }))
    assert.equal([again?.apns, (again?.sqn ?? 0n) > 97_000n], [['corp', 'internet'], true])
  },
)

http('says of each why it cannot take it over, and takes the others', async () => {
  stranger(41)
  stranger(42, { apns: [] })
  stranger(43, { apns: [], isBlocked: true })
  const other = parseImsi('001010000000001')!
  hss.held.set(other, { ...hss.held.get(imsi(41))!, imsi: other })
  const done = await adopt({ ids: [hashOf(41), hashOf(42), hashOf(43), imsiHash(other), '0123456789ab'] })
  const told = new Map(done.results.map((one) => [one.imsi_sha256_12, one.error ?? one.status]))
  assert.is(told.get(hashOf(41)), 'adopted')
  assert.match(told.get(hashOf(42)) ?? '', /it has no APN/)
  assert.is(told.get(hashOf(43)), 'adopted')
  assert.match(told.get(imsiHash(other)) ?? '', /not one of the network 999-99/)
  assert.match(told.get('0123456789ab') ?? '', /no such subscriber/)
  const blocked = bodyOf<SimBody>(await bed.request('GET', `/v1/sims/${hashOf(43)}`))
  assert.equal(
    [blocked.state, blocked.suspend_reason, blocked.apns],
    ['suspended', 'operator', ['internet', 'ims']],
  )
})

http(
  'leaves everybody to the core: nobody is removed, the blocked stay blocked, the slow get their rate back',
  async () => {
    for (const number of [51, 52, 53]) stranger(number)
    await adopt({ all: true })
    bodyOf(await bed.request('POST', `/v1/sims/${hashOf(52)}/suspend`, { body: {} }))
    await eventually(() => assert.is(hss.held.get(imsi(52))?.isBlocked, true))
    await beside.mutate(systemPrincipal('test'), 'test.slow', hashOf(53), async (tx) => {
      await beside.use(subscribersRef).capIn(tx, hashOf(53) as ImsiHash, 1_000, 'wait')
    })
    const slow = { up: 1_000, down: 1_000 }
    await eventually(() => assert.equal(hss.held.get(imsi(53))?.ambrBps, slow))
    const of = (number: number): readonly unknown[] => {
      const { ambrBps, isBlocked } = hss.held.get(imsi(number))!
      return [ambrBps, isBlocked]
    }
    const before = [51, 52, 53].map(of)
    let marks = ['the mark']
    hss.release = async () => {
      marks = []
    }
    const release = async (body: object): Promise<Record<string, number>> =>
      bodyOf(await bed.request('POST', '/v1/sims/release', { body }))
    const dry = await release({ dry_run: true })
    stranger(54)
    const other = await release({ dry_run: true })
    assert.equal(other, { ...dry, others: Number(dry.others) + 1 }, 'who is not taken over is of others')
    hss.held.delete(imsi(54))
    assert.equal([51, 52, 53].map(of), before)
    assert.equal(marks, ['the mark'])
    const done = await release({})
    assert.equal(done, dry)
    assert.equal(marks, [])
    assert.equal([done.rates, (done.blocked ?? 0) >= 1], [1, true])
    const whole = { up: 1_000_000, down: 2_000_000 }
    assert.equal([51, 52, 53].map(of), [
      [whole, false],
      [whole, true],
      [whole, false],
    ])
  },
)

http('tells of no strangers any more where nobody can be counted', async () => {
  const detail = async (): Promise<string> => {
    const parts = (await bed.service(healthBoardRef)?.components()) ?? []
    return parts.find(({ name }) => name.endsWith('provisioning'))?.detail ?? ''
  }
  hss.survey = async () => ({ subscribers: hss.held.size, addresses: [] })
  stranger(61)
  hss.changed?.()
  await eventually(async () => assert.match(await detail(), /of no SIM here/))
  hss.survey = undefined as never
  hss.changed?.()
  await eventually(async () => assert.not.match(await detail(), /of no SIM here/))
})

http('refuses where nobody can be listed, and to guess whom is meant', async () => {
  assert.is(codeOf(await bed.request('POST', '/v1/sims/adopt', { body: {} }), 400), 'validation_failed')
  const { everybody } = hss
  hss.everybody = undefined as never
  const { total, problem } = await foreign()
  assert.is(total, null)
  assert.match(problem ?? '', /the HSS driver fake cannot list/)
  assert.is(
    codeOf(await bed.request('POST', '/v1/sims/adopt', { body: { all: true } }), 400),
    'validation_failed',
  )
  hss.everybody = everybody as never
})

for (const [where, body] of [
  ['of another core', { source: 'other' }],
  ['in exported documents', { documents: ['exported'] }],
] as const)
  http(`writes subscribers ${where} into the HSS, and compares each afterwards`, async () => {
    const at = where === 'of another core' ? 61 : 71
    const person = (number: number, more: Partial<Subscriber> = {}): void => {
      stranger(number, more)
      const row = hss.held.get(imsi(number))
      hss.held.delete(imsi(number))
      if (row !== undefined) others.set(imsi(number), row)
    }
    person(at, { msisdn: '491700000061' })
    person(at + 1, { isBlocked: true })
    person(at + 2)
    const dry = await adopt({ all: true, dry_run: true, ...body })
    assert.equal([dry.adopted, writes()], [3, []])
    // This HSS does not keep a number; its keys are wiped behind it.
    const upsert = hss.upsert
    hss.upsert = (all, signal) =>
      upsert(
        all.map(({ msisdn: _, ki, opc, ...rest }) => ({
          ...rest,
          ki: Buffer.from(ki),
          opc: Buffer.from(opc),
        })),
        signal,
      )
    const done = await adopt({ ids: [at, at + 1].map(hashOf), ...body })
    hss.upsert = upsert
    assert.equal([done.adopted, done.failed, done.left], [2, 0, 1])
    assert.equal([done.results[0]?.is_unchanged, done.results[0]?.changes], [false, ['MSISDN']])
    const held = hss.held.get(imsi(at))
    const before = others.get(imsi(at))
    assert.ok(held !== undefined && before !== undefined)
    const keysOf = ({ ki, opc }: Subscriber): string => Buffer.concat([ki, opc]).toString('hex')
    assert.equal([keysOf(held), held.found], [keysOf(before), foundOf(before).text])
    assert.ok(held.sqn > 97_000n)
    await eventually(() => assert.is(hss.held.get(imsi(at + 1))?.isBlocked, true))
    assert.is(others.size, 3)
  })

http('says what is missing when it is told to look where nobody is', async () => {
  const refused = async (body: object): Promise<string> =>
    JSON.stringify((await bed.request('POST', '/v1/sims/adopt', { body: { all: true, ...body } })).body)
  assert.match(await refused({ source: 'other' }), /set hss\.other .* and hss\.other_url/)
  assert.match(await refused({ documents: ['imsi;ki'] }), /line 1 is no JSON/)
  assert.match(await refused({ source: 'core', documents: ['exported'] }), /either source or documents/)
})

http.run()
