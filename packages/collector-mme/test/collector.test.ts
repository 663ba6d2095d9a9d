import { imsiHash } from '@steeple/telecom'
import { assert, failureOf, suite } from '@steeple/testkit'
import { collected } from './support/collected.ts'
import { phone, recordedItems, ueItem } from './support/core.ts'

const collector = suite('collector-mme')

collector('tells who, where and how of sessions of both generations', async () => {
  await using it = await collected()
  const [lte, nr] = [phone(1), phone(2, 'nr')]
  it.core.attach(lte)
  it.core.attach(nr)
  const beforeMs = it.clock.nowMs()
  const { sightings, isWhole, volumes } = await it.poll()
  assert.ok(isWhole)
  assert.equal(volumes, [])
  const seenAtMs = sightings[0]?.seenAtMs ?? 0
  assert.ok(seenAtMs >= beforeMs && seenAtMs <= it.clock.nowMs())
  const common = { apn: 'internet', plmn: '999-70', state: 'active', startedAtMs: undefined, seenAtMs }
  assert.equal(sightings, [
    {
      ...common,
      imsi: imsiHash(lte.imsi),
      technology: 'lte',
      cell: '999-70-1079baf',
      address: '10.45.0.1',
      prefix: '2001:db8:cafe:2::/64',
      reference: `lte/${imsiHash(lte.imsi)}/internet/10.45.0.1`,
    },
    {
      ...common,
      imsi: imsiHash(nr.imsi),
      technology: 'nr',
      cell: '999-70-000040001',
      address: '10.45.0.2',
      prefix: '2001:db8:cafe:3::/64',
      reference: `nr/${imsiHash(nr.imsi)}/internet/10.45.0.2`,
    },
  ])
})

collector('tells idle from active, by the MME in LTE and by the session in NR', async () => {
  await using it = await collected()
  const [lte, nr, busy] = [phone(1), phone(2, 'nr'), phone(3, 'nr')]
  for (const one of [lte, nr, busy]) it.core.attach(one)
  Object.assign(it.core.lists.mme[0] ?? {}, { cm_state: 'idle' })
  // Connected for signalling alone.
  const [
    ,
    {
      pdu: [session],
    } = { pdu: [] },
  ] = it.core.lists.smf as { pdu: object[] }[] // as the core made it
  Object.assign(session ?? {}, { pdu_state: 'inactive' })
  const { sightings } = await it.poll()
  assert.equal(
    sightings.map(({ state }) => state),
    ['idle', 'idle', 'active'],
  )
})

collector('sees every connection of a phone, each with its own addresses', async () => {
  await using it = await collected()
  const two = {
    ...phone(1),
    sessions: [
      { id: 5, apn: 'internet', ipv4: '10.45.0.2', ipv6: '2001:db8:cafe:1::2' },
      { id: 6, apn: 'ims', ipv6: '2001:db8:0:0:5::9' },
    ],
  }
  it.core.attach(two)
  const { sightings } = await it.poll()
  assert.equal(
    sightings.map(({ apn, address, prefix }) => [apn, address, prefix]),
    [
      ['internet', '10.45.0.2', '2001:db8:cafe:1::/64'],
      ['ims', undefined, '2001:db8::/64'],
    ],
  )
})

collector(
  'tells no phone that is gone or was refused, nor a session that nobody holds any more',
  async () => {
    await using it = await collected()
    for (const n of [1, 2, 3, 4, 5]) it.core.attach(phone(n))
    const [refused, gone, forgotten, , lost] = it.core.lists.mme
    // Refused with the victim's session still listed, detached, forgotten by a restart of the MME.
    Object.assign(refused ?? {}, { mm_state: 'exception' })
    it.core.detach(phone(2).imsi)
    it.core.lists.mme = it.core.lists.mme.filter((one) => one !== forgotten)
    // Forgotten by a restart of the SMF.
    it.core.lists.smf = it.core.lists.smf.filter(({ supi }) => supi !== `imsi-${phone(5).imsi}`)
    assert.ok(gone !== undefined && lost !== undefined)
    const { sightings, isWhole } = await it.poll()
    assert.ok(isWhole)
    assert.equal(
      sightings.map(({ address }) => address),
      ['10.45.0.4'],
    )
    assert.equal(it.mismatches(), [1, 2])
    assert.match(
      it.collector.health?.().detail ?? '',
      /^1 session, 1 connection that the SMF has not, 2 sessions of phones that are not attached/,
    )
  },
)

collector('ends nothing because somebody shows up under the identity of a phone', async () => {
  await using it = await collected()
  it.core.attach(phone(1))
  for (const mm_state of ['authentication', 'security_mode', 'initial_context_setup', 'initial']) {
    Object.assign(it.core.lists.mme[0] ?? {}, { mm_state })
    assert.is((await it.poll()).sightings.length, 1, mm_state)
  }
})

collector('reads 2.7.7, which tells neither state nor cell of a phone that is idle', async () => {
  await using it = await collected()
  it.core.attach(phone(1))
  it.core.attach(phone(2))
  it.core.detach(phone(2).imsi)
  for (const item of it.core.lists.mme) {
    delete item.mm_state
    Object.assign(item, { cm_state: 'idle', enb: { ostream_id: 1 } })
  }
  const { sightings } = await it.poll()
  assert.equal(
    sightings.map(({ state, cell, plmn, address }) => ({ state, cell, plmn, address })),
    [{ state: 'idle', cell: undefined, plmn: '999-70', address: '10.45.0.1' }],
  )
})

collector(
  'reads what a core without states printed: two APNs, idle, and what outlived a restart',
  async () => {
    await using it = await collected()
    const { lists } = it.core
    const seen = async (name: string): Promise<readonly (readonly (string | undefined)[])[]> => {
      lists.mme = recordedItems(`mme-ue-info.2.7.7-${name}.json.txt`)
      lists.smf = recordedItems(`smf-pdu-info.2.7.7-${name}.json.txt`)
      const { sightings } = await it.poll()
      return sightings.map(({ apn, address, prefix, state, cell }) => [apn, address, prefix, state, cell])
    }
    const prefix = '2001:db8:cafe:3::/64'
    assert.equal(await seen('two-apns'), [
      ['internet', '10.45.128.2', prefix, 'active', '999-70-01079ba'],
      ['ims', '10.45.0.2', undefined, 'active', '999-70-01079ba'],
    ])
    assert.equal(await seen('two-apns-idle'), [
      ['internet', '10.45.128.2', prefix, 'idle', undefined],
      ['ims', '10.45.0.2', undefined, 'idle', undefined],
    ])
    assert.equal(await seen('mme-restarted'), [])
    assert.equal(it.mismatches(), [0, 2])
    assert.equal(await seen('smf-restarted'), [])
    assert.equal(it.mismatches(), [1, 0])
  },
)

collector('says what release it takes, and what to do', async () => {
  await using it = await collected()
  it.core.release = '2.7.6'
  const { code, message } = await failureOf(it.poll())
  assert.is(code, 'southbound_unavailable')
  assert.match(message, /^mme has no \/ue-info: .* from Open5GS 2\.7\.7 on; update the core/)
})

collector('fails rather than end sessions while the SMF is away or a page does not fit', async () => {
  await using it = await collected()
  it.core.attach(phone(1))
  assert.is((await it.poll()).sightings.length, 1)
  await it.core.stop('smf')
  assert.match((await failureOf(it.poll())).message, /smf cannot be asked: ECONNREFUSED/)
})

collector('ends no session because phones move between two pages', async () => {
  await using it = await collected()
  const count = 350
  for (let n = 0; n < count; n += 1) it.core.attach(phone(n))
  let asked = 0
  it.core.afterPage = () => {
    // One leaves both lists, one comes, and one attaches anew.
    const { imsi } = phone(asked)
    it.core.lists.mme = it.core.lists.mme.filter(({ supi }) => supi !== imsi)
    it.core.lists.smf.shift()
    it.core.attach(phone(1_000 + asked))
    const [moved] = it.core.lists.mme.splice(20, 1)
    if (moved !== undefined) it.core.lists.mme.push(moved)
    asked += 1
  }
  for (let round = 0; round < 3; round += 1) {
    const { sightings, isWhole } = await it.poll()
    const seen = new Set(sightings.map(({ reference }) => reference))
    const missed = []
    for (let n = asked; n < count; n += 1) {
      const { imsi, sessions } = phone(n)
      if (!seen.has(`lte/${imsiHash(imsi)}/internet/${sessions[0].ipv4}`)) missed.push(n)
    }
    assert.ok(isWhole)
    assert.equal(missed, [])
  }
})

collector('names a phone whose entry comes twice once', async () => {
  await using it = await collected()
  it.core.attach(phone(1))
  it.core.lists.mme.unshift({ ...ueItem(phone(1)), mm_state: 'deregistered', pdn: [] })
  it.core.lists.mme.push(ueItem(phone(1)))
  assert.is((await it.poll()).sightings.length, 1)
})

collector(
  'knows when a session began that it has seen come, and tells one with the same address from it',
  async () => {
    await using it = await collected()
    const starts = async (): Promise<readonly (number | undefined)[]> =>
      (await it.poll()).sightings.map(({ startedAtMs }) => startedAtMs)
    it.core.attach(phone(1))
    assert.equal(await starts(), [undefined])
    it.core.attach(phone(2))
    const [, first] = await starts()
    assert.ok(Math.abs((first ?? 0) - it.clock.nowMs()) < 60_000)
    assert.equal(await starts(), [undefined, first])
    it.core.detach(phone(2).imsi)
    assert.equal(await starts(), [undefined])
    it.core.attach(phone(2))
    const [, second] = await starts()
    assert.ok((second ?? 0) >= (first ?? 0) + 240_000)
    // Nobody looked for too long.
    it.clock.pass(600_000)
    it.core.attach(phone(3))
    assert.equal(await starts(), [undefined, second, undefined])
  },
)

collector('asks the core nothing that its driver has asked a moment ago', async () => {
  await using it = await collected()
  it.core.attach(phone(1))
  await it.poll()
  const { length } = it.core.asked
  assert.is(length, 3)
  await it.collector.poll(undefined, AbortSignal.timeout(60_000))
  assert.is(it.core.asked.length, length)
})

collector('asks by the configuration beside a core driver of another make', async () => {
  await using it = await collected({ hasDriver: false, core: 'another' })
  it.core.attach(phone(1))
  it.core.attach(phone(2, 'nr'))
  assert.is((await it.poll()).sightings.length, 2)
  await it.core.stop('mme')
  assert.equal((await it.poll()).unseen, ['lte'])
  await it.core.stop('smf')
  assert.match((await failureOf(it.poll())).message, /smf cannot be asked/)
})

for (const [gone, technology, other] of [
  ['amf', 'nr', 'lte'],
  ['mme', 'lte', 'nr'],
] as const)
  collector(`goes on with what the other one tells while the ${gone} is away`, async () => {
    await using it = await collected()
    it.core.attach(phone(1, other))
    it.core.attach(phone(2, technology))
    assert.equal((await it.poll()).unseen, [])
    await it.core.stop(gone)
    it.core.attach(phone(3, other))
    const { sightings, isWhole, unseen } = await it.poll()
    assert.equal([isWhole, unseen], [true, [technology]])
    assert.equal(
      sightings.map(({ imsi }) => imsi),
      [imsiHash(phone(1).imsi), imsiHash(phone(3).imsi)],
    )
    assert.ok((sightings[1]?.startedAtMs ?? 0) > 0, 'it was seen to come')
    const { status, detail } = it.collector.health?.() ?? {}
    assert.is(status, 'degraded')
    assert.match(
      detail ?? '',
      `2 sessions; the sessions of the other are as they were: ${gone} cannot be asked`,
    )
    await it.core.stop(other === 'lte' ? 'mme' : 'amf')
    assert.match((await failureOf(it.poll())).message, /cannot be asked/)
  })

collector('tells what the MME knows where nobody said where the SMF is', async () => {
  await using it = await collected({
    hasDriver: false,
    core: 'another',
    urls: (core) => ({ mme_url: core.url('mme'), smf_url: '', amf_url: '' }),
  })
  it.core.attach(phone(1))
  const { sightings, isWhole } = await it.poll()
  assert.ok(isWhole)
  assert.equal(
    sightings.map(({ apn, address, prefix, reference }) => ({ apn, address, prefix, reference })),
    [
      {
        apn: 'internet',
        address: undefined,
        prefix: undefined,
        reference: `lte/${imsiHash(phone(1).imsi)}/internet/5`,
      },
    ],
  )
})

collector('is not ill beside another core where no Open5GS was ever seen, and ends nothing', async () => {
  await using it = await collected({ hasDriver: false, core: 'core_b' })
  await it.core.close()
  const { isWhole, sightings } = await it.poll()
  assert.not.ok(isWhole)
  assert.equal(sightings, [])
  assert.match(it.collector.health?.().detail ?? '', /^no Open5GS answers, and none was seen/)
  await using none = await collected({
    hasDriver: false,
    core: 'core_b',
    urls: () => ({ mme_url: '', smf_url: '', amf_url: '' }),
  })
  assert.not.ok((await none.poll()).isWhole)
  assert.match(none.collector.health?.().detail ?? '', /^no core to ask/)
})

collector('fails while the driver of the core is not loaded: it alone knows where the SMF is', async () => {
  await using it = await collected({ hasDriver: false })
  it.core.attach(phone(1))
  assert.match((await failureOf(it.poll())).message, /^driver-core-a is not loaded/)
  assert.equal(it.core.asked, [])
})

collector.run()
