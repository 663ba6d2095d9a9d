import { healthBoardRef, type Imsi, type Subscriber, subscribersRef } from '@steeple/contracts'
import { imsiHash, parseImsi } from '@steeple/telecom'
import {
  assert,
  bodyOf,
  codeOf,
  driverPlugin,
  eventually,
  type FakeClock,
  type FakeCore,
  type FakeHss,
  fakeClock,
  fakeCore,
  fakeHss,
  letTimePass,
  loadTestbed,
  memoryDb,
  pluginFrom,
  suite,
  type Testbed,
} from '@steeple/testkit'
import { MIGRATIONS } from '../src/migrations.ts'
import { plugin } from '../src/plugin.ts'
import { SIMS } from '../src/store/sim-store.ts'
import { networkHealth } from '../src/subscribers.ts'
import type { IssueAnswer, SimBody } from './support/answers.ts'
import { simRow } from './support/rows.ts'

const provisioning = suite('sims/provisioning')
let bed: Testbed
let hss: FakeHss
let core: FakeCore

/** A test in a world of its own. */
function scene(sentence: string, body: () => Promise<void>, config: object = {}): void {
  provisioning(sentence, async () => {
    const clock = fakeClock()
    const stopClock = letTimePass(clock)
    try {
      await begin(config, clock)
      await body()
    } finally {
      await bed.stop()
      await stopClock()
    }
  })
}

async function begin(config: object, clock: FakeClock): Promise<void> {
  const { startTestbed } = await loadTestbed()
  hss = fakeHss()
  core = fakeCore()
  bed = await startTestbed({
    plugins: [
      await pluginFrom(import.meta.url, plugin),
      driverPlugin('hss', hss),
      driverPlugin('core', core),
    ],
    clock,
    config: { sims: { drift_interval: '1s', attach_interval: '100ms', ...config } },
  })
  await bed.settled()
}

interface ImportAnswer {
  readonly hss?: string
  readonly results: readonly {
    readonly status: string
    readonly kept?: readonly string[]
    readonly overwrites?: readonly {
      readonly field: string
      readonly before: string | null
      readonly after: string | null
    }[]
  }[]
}

const IMSI = '999990000000001' as Imsi
const HASH = imsiHash(IMSI)
const issue = async (body: object = { imsi: IMSI }): Promise<IssueAnswer> =>
  bodyOf(await bed.request('POST', '/v1/sims', { body }), 201)
const show = async (hash: string = HASH): Promise<SimBody> =>
  bodyOf(await bed.request('GET', `/v1/sims/${hash}`))
const move = async (verb: string, query = ''): Promise<SimBody> =>
  bodyOf(await bed.request('POST', `/v1/sims/${HASH}/${verb}${query}`))
const synced = (hash: string = HASH): Promise<void> =>
  eventually(async () => assert.is((await show(hash)).provisioning.status, 'synced'))
/** Waits for the look that counts who comes and goes; a record can ask the core by itself before. */
const looked = (phones: number): Promise<void> =>
  eventually(async () => {
    const { body } = await bed.request('GET', '/metrics')
    assert.match(String(body), `svc_sims_phones_attached ${phones}\n`)
  })

/** What was told of SIMs so far, without what was asked for. */
const told = async (): Promise<readonly string[]> =>
  (await bed.events())
    .filter(({ type }) => /^sim\.(synced|pending|refused|attached|detached|many)$/.test(type))
    .map(({ type, subject, data }) =>
      type === 'sim.many' ? `${type} ${JSON.stringify(data)}` : `${type} ${subject}`,
    )

scene('tells of a SIM that the HSS takes, holds otherwise, refuses, and of its phone', async () => {
  await issue()
  await synced()
  assert.equal(await told(), [`sim.synced ${HASH}`])
  const last = (news: string): Promise<void> =>
    eventually(async () => assert.is((await told()).at(-1), `${news} ${HASH}`))
  core.attached.add(IMSI)
  // Who is there at the first look came while nobody looked.
  await looked(1)
  core.attached.delete(IMSI)
  await last('sim.detached')
  core.attached.add(IMSI)
  await last('sim.attached')
  core.attached.delete(IMSI)
  await last('sim.detached')
  hss.failsFor = () => true
  hss.held.clear()
  await last('sim.refused')
  assert.equal((await told()).slice(-2), [`sim.pending ${HASH}`, `sim.refused ${HASH}`])
  hss.failsFor = () => false
  await last('sim.synced')
})

scene('knows the phone of an imported SIM that was on already', async () => {
  core.attached.add(IMSI)
  await looked(1)
  await importCsv(`imsi,${KEYS}${IMSI}${OF_ROW}\n`)
  await eventually(async () =>
    assert.equal([(await show()).state, (await show()).attached], ['in-use', true]),
  )
})

scene('gives a SIM other APNs and another speed, and tells the HSS at once', async () => {
  await issue({ imsi: IMSI, apns: ['internet'] })
  await synced()
  const path = `/v1/sims/${HASH}/subscription`
  const change = (body: object, headers = {}) => bed.request('POST', path, { body, headers })
  const read = await bed.request('GET', `/v1/sims/${HASH}`)
  const seen = read.headers.get('etag') ?? ''
  const { apns, ambr } = bodyOf<SimBody>(await change({ apns: ['ims'], uplink_bps: 5_000_000 }))
  assert.equal([apns, ambr.uplink_bps], [['ims'], 5_000_000])
  await synced()
  const held = hss.held.get(IMSI)
  assert.equal([held?.apns, held?.ambrBps.up], [['ims'], 5_000_000])
  assert.is(codeOf(await change({ apns: ['internet'] }, { 'if-match': seen }), 412), 'stale_change')
  assert.is(codeOf(await change({ apns: ['nowhere'] }), 400), 'validation_failed')
  assert.is(codeOf(await change({}), 400), 'validation_failed')
  const { results } = await importCsv(`imsi,ki,opc,apns,msisdn\n${IMSI}${OF_ROW},internet;ims,4917012345\n`)
  assert.equal(
    results.map(({ status, kept }) => [status, kept]),
    [['exists', ['apns', 'msisdn']]],
  )
  await move('revoke')
  assert.is(codeOf(await change({ apns: ['internet'] }), 409), 'sim_state_conflict')
})

const KEYS = 'ki,opc\n'
const OF_ROW = ',465b5ce8b199b49faa5f0a2ee238a6bc,cd63cb71954a9f4e48a5994e37a02baf'
const importCsv = async (text: string, query = ''): Promise<ImportAnswer> =>
  bodyOf(
    await bed.request('POST', `/v1/sims/import${query}`, {
      body: text,
      headers: { 'content-type': 'text/csv' },
    }),
  )

/** A subscriber that somebody else has made, with an APN that the policy does not have. */
const FOREIGN: Subscriber = {
  imsi: IMSI,
  ki: new Uint8Array(16),
  opc: new Uint8Array(16).fill(1),
  sqn: 4096n,
  apns: ['internet', 'corp.example'],
  ambrBps: { up: 5_000_000, down: 20_000_000 },
  isBlocked: false,
  msisdn: '491701234567',
}

scene('takes a subscriber of the HSS over as it is, where the import does not say otherwise', async () => {
  hss.held.set(IMSI, FOREIGN)
  hss.isDown = true
  await importCsv(`imsi,${KEYS}${IMSI}${OF_ROW}\n`)
  hss.isDown = false
  await synced()
  const withoutKeys = ({ ki: _ki, opc: _opc, ...rest }: Subscriber): object => rest
  assert.equal(withoutKeys(hss.held.get(IMSI) ?? FOREIGN), withoutKeys(FOREIGN))
  assert.match(hss.keys.get(IMSI) ?? '', /^465b5ce8b199b49faa5f0a2ee238a6bc/)
  const sim = (await show()) as SimBody & { readonly msisdn: string; readonly ambr: object }
  assert.equal(
    [sim.apns, sim.msisdn, sim.ambr, sim.expires_at],
    [
      FOREIGN.apns,
      FOREIGN.msisdn,
      { downlink_bps: 20_000_000, uplink_bps: 5_000_000 },
      '9999-12-31T23:59:59.000Z',
    ],
  )
  assert.equal(
    (await bodyOf<{ sims: object[] }>(await bed.request('GET', '/v1/sims?q=1701234567'))).sims.length,
    1,
  )
})

scene('writes what the import does say, and what is usual for a SIM that the HSS does not have', async () => {
  hss.held.set(IMSI, FOREIGN)
  const other = '999990000000002' as Imsi
  const columns = `imsi,msisdn,apns,downlink_bps,uplink_bps,expires_at,${KEYS}`
  const said = `${IMSI},49555,internet,1000000,2000000,2040-01-01T00:00:00Z${OF_ROW}\n`
  await importCsv(`${columns}${said}${other},,,,,${OF_ROW}\n`)
  for (const imsi of [IMSI, other]) await synced(imsiHash(imsi))
  assert.equal(
    [hss.held.get(IMSI)?.msisdn, hss.held.get(IMSI)?.apns, hss.held.get(IMSI)?.ambrBps],
    ['49555', ['internet'], { down: 1_000_000, up: 2_000_000 }],
  )
  assert.is((await show()).expires_at, '2040-01-01T00:00:00.000Z')
  assert.equal([hss.held.get(other)?.msisdn, hss.held.get(other)?.apns], [undefined, ['internet', 'ims']])
  assert.not.match((await show(imsiHash(other))).expires_at, /^9999/)
})

scene('says in a dry run, field by field, what an import would overwrite in the HSS', async () => {
  hss.held.set(IMSI, FOREIGN)
  hss.compare = async (all) =>
    new Map(all.map(({ imsi }) => [imsi, { fields: ['Ki', 'MSISDN'], isSqnLost: false }]))
  const plain = await importCsv(`imsi,${KEYS}${IMSI}${OF_ROW}\n999990000000002${OF_ROW}\n`, '?dry_run=true')
  assert.is(plain.hss, 'asked')
  assert.equal(
    plain.results.map(({ status, overwrites }) => [status, overwrites]),
    [
      ['imported', [{ field: 'Ki', before: null, after: null }]],
      ['imported', undefined],
    ],
  )
  const columns = `imsi,msisdn,apns,downlink_bps,uplink_bps,${KEYS}`
  const other = await importCsv(
    `${columns}${IMSI},49555,internet,1000000,2000000${OF_ROW}\n`,
    '?dry_run=true',
  )
  assert.equal(other.results[0]?.overwrites?.slice(0, 3), [
    { field: 'msisdn', before: '491701234567', after: '49555' },
    { field: 'apns', before: 'internet;corp.example', after: 'internet' },
    { field: 'ambr', before: '20000000/5000000', after: '1000000/2000000' },
  ])
  assert.equal(
    hss.calls.filter((call) => call.startsWith('upsert')),
    [],
  )
  hss.isDown = true
  const silent = await importCsv(`imsi,${KEYS}${IMSI}${OF_ROW}\n`, '?dry_run=true')
  assert.equal([silent.hss, silent.results[0]?.overwrites], ['silent', undefined])
})

const healthOf = (name: string): readonly unknown[] => {
  const found = bed
    .service(healthBoardRef)
    ?.components()
    .find((one) => one.name === `sims.${name}`)
  return [found?.status, found?.detail]
}

scene('counts subscribers of the HSS that are no SIM of this service, and leaves them alone', async () => {
  const stranger = '999990000000009' as Imsi
  hss.survey = async () => ({ subscribers: hss.held.size, addresses: [] })
  hss.held.set(stranger, { ...FOREIGN, imsi: stranger })
  await issue()
  await synced()
  hss.changed?.()
  await eventually(() =>
    assert.match(
      String(healthOf('provisioning')[1]),
      /; 1 subscriber of the HSS is of no SIM here and left alone/,
    ),
  )
  assert.equal(hss.held.get(stranger), { ...FOREIGN, imsi: stranger })
})

scene('says what to do about SIMs of a network number that is not the configured one any more', async () => {
  await issue()
  await eventually(() => assert.equal(healthOf('network'), ['ok', 'every SIM is of this network']))
  const others = bed.service(subscribersRef)
  const words = await others?.misfits?.('262-98')
  assert.match(words ?? '', /^1 SIM has an IMSI of another network than 262-98, .*svc sim issue --replaces/)
  const settings = { plmn: { mcc: '262', mnc: '98' } }
  const db = memoryDb(MIGRATIONS)
  const sealed = { imsi_sealed: new Uint8Array(), secrets_sealed: new Uint8Array() }
  await db.write(async (tx) => {
    for (const hash of ['a', 'b']) await SIMS.insertNew(tx, simRow({ hash, ...sealed }))
    await SIMS.insertNew(tx, simRow({ hash: 'c', plmn: '262-98', ...sealed }))
    await SIMS.insertNew(tx, simRow({ hash: 'd', state: 'revoked', ...sealed }))
  })
  const { status, detail } = await networkHealth({ db, settings })
  assert.is(status, 'degraded')
  assert.match(detail ?? '', /^2 SIMs have IMSIs of another network than 262-98/)
  db.close()
  await move('revoke')
  assert.is(await others?.misfits?.('262-98'), undefined)
})

scene('tells of many SIMs at once by how many they are', async () => {
  await issue({ count: 100 })
  await eventually(async () => {
    const sums = (await told()).map((one) =>
      one.startsWith('sim.many') ? JSON.parse(one.slice(9)).synced : 1,
    )
    assert.is(
      sums.reduce((sum, count) => sum + count, 0),
      100,
    )
  })
  assert.ok((await told()).length <= 40, 'not one for each')
})

scene('pushes what was issued, with its keys, once', async () => {
  await issue()
  await synced()
  const held = hss.held.get(IMSI)
  assert.equal([held?.apns, held?.isBlocked, held?.sqn], [['internet', 'ims'], false, 32n])
  assert.match(hss.keys.get(IMSI) ?? '', /^[0-9a-f]{64}$/)
  const { provisioning: shown } = await show()
  assert.equal([shown.driver, shown.last_error], ['fake', null])
  await bed.settled()
  assert.is(hss.sqns.get(IMSI)?.length, 1)
  // The buffers were the caller's to wipe after the call.
  assert.ok(held?.ki.every((octet) => octet === 0))
})

scene('takes the first attach as the begin of its use and counts each attach', async () => {
  await issue()
  await synced()
  core.attached.add(IMSI)
  await eventually(async () => assert.is((await show()).state, 'in-use'))
  core.attached.delete(IMSI)
  await eventually(async () => assert.is((await show()).attached, false))
  await looked(0)
  core.attached.add(IMSI)
  await eventually(async () => {
    const { body } = await bed.request('GET', '/metrics')
    assert.match(String(body), /svc_attach_total\{plmn="999-99"\} 2/)
    assert.match(String(body), /svc_sim_state\{state="in-use"\} 1/)
    assert.match(String(body), /svc_sim_state\{state="issued"\} 0/)
  })
})

scene('blocks first, then kicks, then says that the session is gone', async () => {
  await issue()
  await synced()
  core.attached.add(IMSI)
  core.pendingKicks = 2
  const suspended = await move('suspend', '?wait=30s')
  assert.equal(
    [suspended.state, suspended.detached, suspended.provisioning.status],
    ['suspended', 'yes', 'synced'],
  )
  assert.is(hss.held.get(IMSI)?.isBlocked, true)
  assert.not.ok(core.attached.has(IMSI))
  const resumed = await move('resume')
  // In use when the core was looked at while the phone was on, which is not said here.
  assert.ok(resumed.state === 'issued' || resumed.state === 'in-use', resumed.state)
  await synced()
  assert.is(hss.held.get(IMSI)?.isBlocked, false)
  // Its removal comes a moment after the answer, and is held up here until the answer is looked at.
  const { remove } = hss
  const answered = Promise.withResolvers<void>()
  hss.remove = async (imsis, signal) => {
    await answered.promise
    return await remove(imsis, signal)
  }
  const revoked = await move('revoke', '?wait=30s')
  assert.equal([revoked.detached, hss.held.get(IMSI)?.isBlocked], ['not_attached', true])
  answered.resolve()
  await eventually(() => assert.not.ok(hss.held.has(IMSI)))
  await synced()
})

scene('lifts a suspension, and answers once the HSS lets the phone on when it is asked to wait', async () => {
  await issue()
  await synced()
  await move('suspend', '?wait=30s')
  assert.is((await move('resume', '?wait=30s')).provisioning.status, 'synced')
  assert.is(hss.held.get(IMSI)?.isBlocked, false)
  await move('suspend', '?wait=30s')
  const { sims } = bodyOf<{ sims: readonly SimBody[] }>(await bed.request('GET', '/v1/sims'))
  const all = { action: 'resume', ids: sims.map((sim) => sim.imsi_sha256_12) }
  await bed.request('POST', '/v1/sims/bulk?wait=30s', { body: all })
  assert.is(hss.held.get(IMSI)?.isBlocked, false)
  await move('suspend', '?wait=30s')
  hss.isDown = true
  assert.is((await move('resume', '?wait=100ms')).provisioning.status, 'pending')
  hss.isDown = false
})

scene('cuts off again who comes back although suspended', async () => {
  await issue()
  await synced()
  await move('suspend', '?wait=30s')
  core.attached.add(IMSI)
  hss.held.set(IMSI, { ...hss.held.get(IMSI)!, isBlocked: false })
  await eventually(() => {
    assert.not.ok(core.attached.has(IMSI))
    assert.is(hss.held.get(IMSI)?.isBlocked, true)
  })
})

scene('keeps everything for an HSS that is down and says so', async () => {
  hss.isDown = true
  const { sims } = await issue({ count: 450, msin_start: '1' })
  const hash = sims[0]!.imsi_sha256_12
  await eventually(async () => {
    const { provisioning: shown } = await show(hash)
    assert.equal(
      [shown.status, shown.last_error, shown.waits_for],
      ['pending', 'the database is away', 'hss'],
    )
  })
  const board = bed.service(healthBoardRef)
  await eventually(() => {
    const shown = board?.components().find(({ name }) => name.endsWith('provisioning'))
    assert.equal(
      [shown?.status, shown?.detail],
      ['degraded', 'fake: the database is away; 450 SIMs wait, 0 failed'],
    )
  })
  await eventually(() => {
    const asked = hss.calls.slice(-2)
    assert.ok(asked.length === 2 && asked.every((call) => call.endsWith(' 1')), asked.join())
  })
  hss.isDown = false
  await eventually(() => assert.is(hss.held.size, 450))
  assert.ok([...hss.sqns.values()].every((brought) => new Set(brought).size === 1))
  await synced(hash)
})

scene('tells why an outage began, and pushes all within ten seconds of its end', async () => {
  const upsert = hss.upsert
  let calls = 0
  hss.upsert = async () => {
    calls += 1
    throw new Error(calls === 1 ? 'it refused the connection' : 'the client is closed')
  }
  await issue({ count: 30, msin_start: '1' })
  const board = bed.service(healthBoardRef)
  await eventually(() => {
    assert.ok(calls > 4)
    const shown = board?.components().find(({ name }) => name.endsWith('provisioning'))
    assert.match(shown?.detail ?? '', /it refused the connection; now: the client is closed/)
  })
  hss.upsert = upsert
  await eventually(() => assert.is(hss.held.size, 30))
})

scene(
  'compares everything at once when the HSS answers again: another may be in its place',
  async () => {
    await issue({ count: 5, msin_start: '1' })
    await eventually(() => assert.is(hss.held.size, 5))
    await bed.settled()
    hss.held.clear()
    hss.changed?.()
    await eventually(() => assert.is(hss.held.size, 5))
  },
  { drift_interval: '1h' },
)

scene(
  'compares everything at once when another copy of the driver has come: it may keep its subscribers itself',
  async () => {
    await issue({ count: 5, msin_start: '1' })
    await eventually(() => assert.is(hss.held.size, 5))
    await bed.settled()
    const next = fakeHss()
    await bed.load({ ...driverPlugin('hss', next), version: '1.1.0' })
    await eventually(() => assert.is(next.held.size, 5))
  },
  { drift_interval: '1h' },
)

scene(
  'stops pushing what the HSS does not keep, names the field, and tries again after a change',
  async () => {
    const { upsert } = hss
    let keeps = false
    hss.upsert = (subscribers, signal) =>
      upsert(keeps ? subscribers : subscribers.map(({ msisdn: _dropped, ...one }) => one), signal)
    await issue({ imsi: IMSI, msisdn: '436641234567' })
    await eventually(async () => {
      const { provisioning: shown } = await show()
      assert.is(shown.status, 'failed')
      assert.match(shown.last_error ?? '', /pushed 3 times.*the MSISDN was changed in the HSS/)
    })
    const pushes = hss.sqns.get(IMSI)?.length
    assert.is(pushes, 4)
    const board = bed.service(healthBoardRef)
    await eventually(() => {
      const shown = board?.components().find(({ name }) => name.endsWith('provisioning'))
      assert.match(shown?.detail ?? '', /1 differs in the HSS whatever is pushed: the MSISDN/)
      assert.is(shown?.status, 'degraded')
    })
    assert.is(hss.sqns.get(IMSI)?.length, pushes)
    keeps = true
    await move('suspend', '?wait=30s')
    await move('resume')
    await synced()
    assert.is(hss.held.get(IMSI)?.msisdn, '436641234567')
  },
)

scene('mends a suspended SIM that was edited, and leaves it blocked', async () => {
  await issue()
  await synced()
  await move('suspend', '?wait=30s')
  await synced()
  hss.held.set(IMSI, { ...hss.held.get(IMSI)!, apns: ['other'] })
  await eventually(() => {
    assert.equal([hss.held.get(IMSI)?.apns, hss.held.get(IMSI)?.isBlocked], [['internet', 'ims'], true])
  })
  await synced()
})

for (const isSilent of [false, true])
  scene(`writes a suspended SIM again that waits for its phone (silent core: ${isSilent})`, async () => {
    await issue()
    await synced()
    core.attached.add(IMSI)
    core.pendingKicks = Number.POSITIVE_INFINITY
    if (isSilent) core.kick = () => Promise.reject(new Error('no answer'))
    await move('suspend')
    await eventually(async () => assert.is((await show()).provisioning.waits_for, 'phone'))
    hss.held.delete(IMSI)
    await eventually(() => assert.is(hss.held.get(IMSI)?.isBlocked, true))
    assert.ok((hss.held.get(IMSI)?.sqn ?? 0n) > 32n, 'the card has seen this SQN')
    hss.held.set(IMSI, { ...hss.held.get(IMSI)!, apns: ['other'] })
    await eventually(() => assert.equal(hss.held.get(IMSI)?.apns, ['internet', 'ims']))
    assert.is(hss.held.get(IMSI)?.isBlocked, true)
    assert.is((await show()).provisioning.waits_for, 'phone')
  })

scene('says in health who is cut off and not known to be off', async () => {
  await issue()
  await synced()
  core.attached.add(IMSI)
  core.pendingKicks = 1_000
  await move('suspend')
  const board = bed.service(healthBoardRef)
  const kicks = () => board?.components().find(({ name }) => name.endsWith('kicks'))
  await eventually(() => {
    assert.equal(kicks()?.status, 'degraded')
    assert.match(kicks()?.detail ?? '', /^1 SIM that is cut off is not known to be off, for up to \d+ s/)
  })
  core.pendingKicks = 0
  await eventually(() => assert.is(kicks()?.status, 'ok'))
})

scene('shows the failure of one without holding up the others, and gets over it', async () => {
  const bad = '999990000000003' as Imsi
  hss.failsFor = (imsi) => imsi === bad
  await issue({ count: 5, msin_start: '1' })
  const hash = imsiHash(bad)
  await eventually(async () => {
    const { provisioning: shown } = await show(hash)
    assert.equal([shown.status, shown.last_error], ['failed', 'document … is refused'])
  })
  assert.is(hss.held.size, 4)
  hss.failsFor = () => false
  await synced(hash)
})

scene('repairs what was changed in the HSS by hand, and inserts later than every SQN used', async () => {
  await issue({ count: 4, msin_start: '1' })
  await eventually(() => assert.is(hss.held.size, 4))
  const [first, second, third, fourth] = [1, 2, 3, 4].map((n) => parseImsi(`99999000000000${n}`)!)
  await bed.settled()
  await eventually(async () => {
    const { sims } = bodyOf<{ sims: SimBody[] }>(await bed.request('GET', '/v1/sims'))
    assert.ok(sims.every((sim) => sim.provisioning.status === 'synced'))
  })
  const edit = (imsi: Imsi, change: object): void =>
    void hss.held.set(imsi, { ...hss.held.get(imsi)!, ...change })
  hss.held.delete(first!)
  edit(second!, { ambrBps: { up: 1, down: 1 } })
  edit(third!, { apns: [] })
  edit(fourth!, { isBlocked: true, sqn: 6400n })
  await eventually(() => {
    assert.ok((hss.held.get(first!)?.sqn ?? 0n) > 32n)
    assert.equal(hss.held.get(second!)?.ambrBps, { up: 1_000_000_000, down: 1_000_000_000 })
    assert.equal(hss.held.get(third!)?.apns, ['internet', 'ims'])
    assert.equal([hss.held.get(fourth!)?.isBlocked, hss.held.get(fourth!)?.sqn], [false, 6400n])
  })
})

scene('has a driver that compares find changed keys and a lost SQN, which nothing shows', async () => {
  let isSqnLost = false
  const hex = ({ ki, opc }: Subscriber): string => Buffer.concat([ki, opc]).toString('hex')
  hss.compare = async (subscribers) => {
    const held = subscribers.filter(({ imsi }) => hss.held.has(imsi))
    return new Map(
      held.map((subscriber) => {
        const isSame = hss.keys.get(subscriber.imsi) === hex(subscriber)
        const fields = [...(isSame ? [] : ['auth.key']), ...(isSqnLost ? ['auth.sqn'] : [])]
        return [subscriber.imsi, { fields, isSqnLost }]
      }),
    )
  }
  await issue()
  await synced()
  const right = hss.keys.get(IMSI)
  hss.keys.set(IMSI, '00'.repeat(32))
  await eventually(() => assert.is(hss.keys.get(IMSI), right))
  assert.equal(hss.sqns.get(IMSI), [32n, 32n])
  isSqnLost = true
  await eventually(() => assert.ok((hss.sqns.get(IMSI)?.at(-1) ?? 0n) > 32n))
  hss.held.delete(IMSI)
  isSqnLost = false
  await eventually(() => assert.ok(hss.held.has(IMSI)))
  await synced()
  const { last_error } = (await show()).provisioning
  assert.is(last_error, null)
})

scene(
  'keeps nobody in the HSS for a core that does not answer, and does not claim that the session is gone',
  async () => {
    await issue()
    await synced()
    core.kick = async () => {
      throw new Error('no route to the core')
    }
    const revoked = await move('revoke', '?wait=200ms')
    assert.equal([revoked.state, revoked.detached], ['revoked', 'pending'])
    await eventually(() => assert.is(hss.held.get(IMSI)?.isBlocked ?? true, true))
    await eventually(async () => {
      const { last_error, waits_for } = (await show()).provisioning
      assert.equal([last_error, waits_for], ['the core did not say whether the session is gone', 'phone'])
    })
    await eventually(() => assert.not.ok(hss.held.has(IMSI)))
  },
)

scene('cuts a SIM off while a push of others hangs', async () => {
  await issue()
  await synced()
  const { upsert } = hss
  const gate = Promise.withResolvers<void>()
  hss.upsert = async (subscribers, signal) => {
    await gate.promise
    return await upsert(subscribers, signal)
  }
  await issue({ count: 3, msin_start: '500' })
  await move('suspend')
  await eventually(() => assert.is(hss.held.get(IMSI)?.isBlocked, true))
  assert.is(hss.held.size, 1)
  gate.resolve()
  await eventually(() => assert.is(hss.held.size, 4))
})

scene('removes a revoked subscriber that an old backup has brought back', async () => {
  await issue()
  await synced()
  const before = hss.held.get(IMSI)!
  await move('revoke', '?wait=30s')
  await synced()
  assert.not.ok(hss.held.has(IMSI))
  hss.held.set(IMSI, before)
  await eventually(() => assert.not.ok(hss.held.has(IMSI)))
})

scene('expires a SIM by itself and takes it off', async () => {
  const { first } = await issue({ imsi: IMSI, expires_in: '1s' })
  core.attached.add(IMSI)
  await eventually(async () => {
    const sim = await show(first.imsi_sha256_12)
    assert.equal([sim.state, sim.provisioning.status, hss.held.has(IMSI)], ['expired', 'synced', false])
    // Its phone may have come when it was cut off already: then it is cut off again.
    assert.not.ok(core.attached.has(IMSI))
  })
  const audit = await bed.audit()
  assert.ok(audit.some(({ action, target }) => action === 'sim.expire' && target === HASH))
})

scene('pushes all again when another HSS takes the place of the first', async () => {
  await issue()
  await synced()
  const other = { ...fakeHss(), name: 'other' }
  await bed.unload('fake-hss')
  assert.is((await show()).provisioning.status, 'pending')
  const next = driverPlugin('hss', other)
  await bed.load({ ...next, manifest: { ...next.manifest, id: 'other-hss', config_path: 'other_hss' } })
  await eventually(() => assert.ok(other.held.has(IMSI)))
})

provisioning.run()
