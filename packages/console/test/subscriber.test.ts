import { assert, suite } from '@steeple/testkit'
import type { Order } from '../src/pages/sims/order.tsx'
import { type Answers, inBrowser, open, Refusal } from './support/page.ts'

const { EMPTY_ORDER, numberOf, orderBody } = await import('../src/pages/sims/order.tsx')
const { rowsToImport } = await import('../src/pages/sims/import.tsx')

/** SIMs: what is ordered, what is imported, and what may be done with one. */
const subscriber = suite('console/subscriber')
inBrowser(subscriber)

const HASH = '0123456789ab'
const sim = (more: object = {}) => ({
  ...{ imsi_sha256_12: HASH, label: 'village 07', state: 'in-use', suspend_reason: null, attached: true },
  ...{ iccid_last4: '1234', msisdn: null, profile: 'default', apns: ['internet'], batch_id: null },
  ...{ issued_at: '2026-01-01T00:00:00Z', expires_at: '2030-01-01T00:00:00Z', first_attach_at: null },
  ...{ last_seen_at: null, adopted_at: null, replaces: null, ambr: { downlink_bps: 1e9, uplink_bps: 5e7 } },
  ...{ provisioning: { status: 'synced', waits_for: null, last_error: null, driver: 'hss' }, ...more },
})
const ANSWERS: Answers = {
  'GET /v1/sessions': { sessions: [], next_cursor: null },
  'GET /v1/health': { components: [], incidents: [] },
}
const SIM = `/v1/sims/${HASH}`
const shown = (more: object = {}, roles?: readonly string[], given: Answers = {}) =>
  open(`/sims/${HASH}`, { ...ANSWERS, [`GET ${SIM}`]: sim(more), ...given }, roles && { roles })

subscriber('orders what is typed, and leaves the rest to the service', () => {
  const body = (typed: Partial<Order>) => orderBody({ ...EMPTY_ORDER, ...typed })
  const until = new Date(2027, 5, 1, 23, 59, 59).toISOString()
  for (const [typed, sent] of [
    [{}, {}],
    [{ label: '  ', profile: ' ' }, {}],
    [
      { label: ' village ', profile: ' home ' },
      { label: 'village', profile: 'home' },
    ],
    [{ apns: ['ims'] }, { apns: ['ims'] }],
    [{ life: '90d', date: '2027-06-01' }, { expires_in: '90d' }],
    [{ life: 'date', date: '2027-06-01' }, { expires_at: until }],
    [{ down: '0,5' }, { ambr: { downlink_bps: 500_000, uplink_bps: 1e9 } }],
    [{ down: '20', up: '1.5' }, { ambr: { downlink_bps: 2e7, uplink_bps: 1_500_000 } }],
    [{ msisdn: '+49 170 12' }, { msisdn: '4917012' }],
    [{ more: { quota_bytes: 5 } }, { quota_bytes: 5 }],
  ] as const)
    assert.equal(body(typed as Partial<Order>), { count: 1, ...sent }, JSON.stringify(typed))
  // A number is of one: typed before the count was raised it cannot be taken out of its field any more.
  assert.equal(body({ count: '10', msisdn: '+49 170 12' }), { count: 10 })
  assert.equal(['1,5', '1.5', '20'].map(numberOf), [1.5, 1.5, 20])
})

subscriber('offers with each SIM what its state and the roles of who looks allow', async () => {
  const [live, over] = [['Suspend', 'Label', 'Replace', 'Revoke'], ['Label']]
  for (const [state, roles, offered] of [
    ['issued', undefined, live],
    ['in-use', undefined, live],
    ['suspended', undefined, ['Resume', 'Label', 'Replace', 'Revoke']],
    ['expired', undefined, ['Label', 'Replace', 'Revoke']],
    ['revoked', undefined, over],
    ['in-use', ['viewer'], []],
    ['in-use', ['viewer', 'operator'], ['Suspend']],
    ['suspended', ['viewer', 'operator'], ['Resume']],
    ['in-use', ['viewer', 'sim:issuer'], ['Label', 'Replace']],
    ['in-use', ['viewer', 'sim:admin'], ['Revoke']],
    ['revoked', ['viewer', 'sim:admin'], []],
  ] as const) {
    const page = await shown({ state, suspend_reason: state === 'suspended' ? 'operator' : null }, roles)
    const all = ['Suspend', 'Resume', 'Label', 'Replace', 'Revoke']
    const there = page.buttons().filter((name) => all.includes(name))
    assert.equal(there, offered, `${state} ${roles}`)
  }
})

subscriber('changes the APNs and the speed of a SIM, and says nothing of what was not touched', async () => {
  const changed = { [`POST ${SIM}/subscription`]: sim(), 'GET /v1/policy': { apns: ['internet', 'corp'] } }
  const page = await shown({}, undefined, changed)
  await page.press('APNs and speed')
  assert.match(page.text(), 'No phone is disconnected.')
  assert.ok(page.isDisabled('Change'), 'nothing was touched')
  await page.tick('corp')
  await page.put('Upload, Mbit/s', '2,5')
  await page.press('Change')
  assert.equal(page.changes(), [
    [`POST ${SIM}/subscription`, { apns: ['internet', 'corp'], uplink_bps: 2_500_000 }],
  ])
  assert.match(page.text(), 'APNs and speed are changed.')
})

subscriber('says of a SIM that was taken over when that was, and that it has no end', async () => {
  const adopted_at = '2026-01-01T00:00:00Z'
  const in_core = { slices: ['1-0000ff'], fixed_addresses: ['10.45.7.4'] }
  const page = await shown({ adopted_at, in_core, expires_at: '9999-12-31T23:59:59.000Z' })
  const text = page.text()
  assert.match(text, 'Taken over')
  assert.match(text, 'Fixed address')
  assert.match(text, '10.45.7.4')
  assert.match(text, 'no end')
  assert.not.match(text, 'Issued')
})

subscriber('suspends at once, and takes that back at once', async () => {
  const page = await shown()
  const suspended = sim({ state: 'suspended', suspend_reason: 'operator' })
  page.answer({ [`POST ${SIM}/suspend`]: suspended, [`GET ${SIM}`]: suspended })
  await page.press('Suspend')
  assert.match(page.text(), 'village 07 is suspended. It is blocked in the core. Its phone is off.')
  page.answer({ [`POST ${SIM}/resume`]: sim(), [`GET ${SIM}`]: sim() })
  await page.press('Undo Ctrl Z')
  assert.equal(
    page.changes().map(([call]) => call),
    [`POST ${SIM}/suspend`, `POST ${SIM}/resume`],
  )
  assert.match(page.text(), 'village 07 is resumed. Its phone may use the network again.')
})

subscriber('lets what is done later to a SIM take the place of what was said before', async () => {
  const page = await shown()
  const suspended = sim({ state: 'suspended', suspend_reason: 'operator' })
  page.answer({ [`POST ${SIM}/suspend`]: suspended, [`GET ${SIM}`]: suspended })
  await page.press('Suspend')
  assert.match(page.text(), 'village 07 is suspended.')
  page.answer({
    ...{ [`POST ${SIM}/resume`]: sim(), [`GET ${SIM}`]: sim() },
    'GET /v1/health': { components: [], incidents: [{ kind: 'other_network' }, { kind: 'core_degraded' }] },
  })
  await page.press('Resume')
  assert.match(page.text(), 'village 07 is resumed. Its phone may use the network again.')
  assert.not.match(page.text(), 'is suspended')
  assert.not.ok(page.buttons().includes('Undo Ctrl Z'))
})

subscriber('calls no session active while no radio is there', async () => {
  const session = {
    ...{ id: 's1', imsi_sha256_12: HASH, label: null, state: 'active', apn: 'internet', cell: null },
    ...{ down_bytes: 0, up_bytes: 0, incomplete: false, technology: 'lte', ue_ip: '10.45.0.2' },
    ...{ ue_ipv6_prefix: null, started_at: '2026-01-01T00:00:00Z', ended_at: null },
  }
  const enb = { known: true, connected: true, s1_setup: true, mode: 'lte', other_networks: [] }
  const sessions = { 'GET /v1/sessions': { sessions: [session], next_cursor: null } }
  const states = async (more: object): Promise<string> => {
    const status = { 'GET /v1/status': { enb: { ...enb, ...more } } }
    return (await shown({}, undefined, { ...sessions, ...status })).text('Sessions')
  }
  assert.match(await states({}), 'active')
  assert.match(await states({ connected: false }), 'no radio')
  assert.match(await states({ connected: false, other_networks: ['999-99'] }), 'active')
  assert.match(await states({ connected: false, known: false }), 'active')
})

subscriber('asks by a title that fits what its phone does', async () => {
  assert.match((await shown()).text(), 'Does something not work?')
  assert.match((await shown({ attached: false })).text(), 'Why is this phone offline?')
})

subscriber('says that the core is away, in place of a success that is not one', async () => {
  const page = await shown()
  const waiting = { status: 'pending', waits_for: 'hss', last_error: null, driver: 'hss' }
  const asked = sim({ state: 'suspended', suspend_reason: 'operator', provisioning: waiting })
  page.answer({
    ...{ [`POST ${SIM}/suspend`]: asked, [`GET ${SIM}`]: asked },
    'GET /v1/health': { components: [], incidents: [{ kind: 'no_core' }] },
  })
  await page.press('Suspend')
  assert.match(page.text(), 'The core cannot be reached. The box makes the change when the core is back.')
  assert.not.match(page.text(), 'Its phone is off')
})

subscriber('asks before it lifts what no person has suspended, and says so to the service', async () => {
  for (const [reason, who] of [
    ['policy', 'the rules'],
    ['quota', 'its quota'],
  ] as const) {
    const page = await shown({ state: 'suspended', suspend_reason: reason })
    await page.press('Resume')
    assert.is(page.dialog(), `It was suspended by ${who}`)
    assert.equal(page.changes(), [])
    page.answer({ [`POST ${SIM}/resume`]: sim() })
    await page.press('Resume anyway')
    assert.equal(page.changes(), [[`POST ${SIM}/resume`, { override: true }]])
  }
  const page = await shown({ state: 'suspended', suspend_reason: 'operator' })
  page.answer({ [`POST ${SIM}/resume`]: sim() })
  await page.press('Resume')
  assert.is(page.dialog(), undefined, 'what a person has suspended a person resumes')
})

subscriber(
  'revokes after the question, with the reason that was given, and never twice by one failure',
  async () => {
    for (const [typed, sent] of [
      ['', {}],
      ['  ', {}],
      [' lost ', { reason: 'lost' }],
    ] as const) {
      const page = await shown({}, undefined, { [`POST ${SIM}/revoke`]: sim({ state: 'revoked' }) })
      await page.press('Revoke')
      await page.put('Reason', typed)
      await page.press('Revoke')
      assert.equal(page.changes(), [[`POST ${SIM}/revoke`, sent]])
      assert.is(page.dialog(), undefined)
    }
    const page = await shown({}, undefined, {
      [`POST ${SIM}/revoke`]: new Refusal(409, 'sim_state_conflict', 'later'),
    })
    await page.press('Revoke')
    await page.press('Revoke')
    assert.match(page.text(), 'later')
    await page.press('Cancel')
    await page.press('Revoke')
    assert.not.match(page.text(), 'later')
  },
)

subscriber('goes to the card that replaces this one', async () => {
  const page = await shown({}, undefined, { 'POST /v1/sims': { first: { imsi_sha256_12: 'ba9876543210' } } })
  await page.press('Replace')
  await page.press('Replace')
  assert.equal(page.changes(), [['POST /v1/sims', { replaces: HASH }]])
  assert.is(page.address(), '/sims/ba9876543210')
})

subscriber(
  'labels with the tag it was read with, and shows both labels when somebody else was first',
  async () => {
    const read = (label: string, etag: string) => () => Response.json(sim({ label }), { headers: { etag } })
    const page = await shown({}, undefined, { [`GET ${SIM}`]: read('village 07', '"a"') })
    await page.press('Label')
    await page.put('Label', 'mine')
    page.answer({
      [`GET ${SIM}`]: read('theirs', '"b"'),
      [`POST ${SIM}/label`]: ({ headers }) =>
        headers.get('if-match') === '"b"'
          ? sim({ label: 'mine' })
          : new Refusal(412, 'stale', 'changed since'),
    })
    await page.press('Save label')
    assert.match(page.text(), 'Theirs: theirs')
    assert.ok(page.isDisabled('Save label'))
    await page.press('Keep my values')
    await page.press('Save label')
    assert.equal(
      page.changes(),
      [`POST ${SIM}/label`, `POST ${SIM}/label`].map((call) => [call, { label: 'mine' }]),
    )
    assert.is(page.dialog(), undefined)
  },
)

subscriber('takes a label away where nothing is left of it', async () => {
  const page = await shown({}, undefined, { [`POST ${SIM}/label`]: sim({ label: null }) })
  await page.press('Label')
  await page.put('Label', '  ')
  await page.press('Save label')
  assert.equal(page.changes(), [[`POST ${SIM}/label`, { label: null }]])
})

subscriber('asks by itself why a phone is away, and why one is on when it is asked', async () => {
  const checks = [{ name: 'registered', status: 'failed', detail: 'not seen', advice: 'restart the phone' }]
  const why = { [`GET ${SIM}/diagnosis`]: { verdict: 'The phone is not seen.', checks } }
  const away = await shown({ attached: false }, undefined, why)
  for (const says of ['The phone is not seen.', 'not seen', 'restart the phone'])
    assert.match(away.text(), says)
  const on = await shown({}, undefined, why)
  const asked = () => on.asked().filter(({ call }) => call.endsWith('/diagnosis')).length
  assert.is(asked(), 0)
  await on.press('Check anyway')
  assert.is(asked(), 1)
})

subscriber('says once why a phone is off that its quota keeps off, in the words of the reader', async () => {
  const advice = 'raise its quota or wait for the next period; svc sim resume 0 --override lifts it now'
  const checks = [{ name: 'state', status: 'failed', detail: 'suspended by quota', advice }]
  const page = await shown({ state: 'suspended', suspend_reason: 'quota', attached: false }, undefined, {
    [`GET ${SIM}/diagnosis`]: { verdict: 'state: suspended by quota', checks },
  })
  const said = page.text('Why is this phone offline?')
  assert.is(said.split('suspended by').length - 1, 1, said)
  assert.match(said, /suspended by its quota[\s\S]*Top up or raise its quota, or wait/)
  assert.not.match(said, 'state:')
})

subscriber('says that a SIM is not there, and does not when it could not be read', async () => {
  const missing = await shown({}, undefined, { [`GET ${SIM}`]: new Refusal(404, 'sim_not_found', 'none') })
  assert.match(missing.text(), 'This SIM does not exist')
  const closed = await shown({}, undefined, { [`GET ${SIM}`]: new Refusal(403, 'forbidden', 'not you') })
  assert.not.match(closed.text(), 'This SIM does not exist')
  assert.match(closed.text(), 'not you')
})

const LIST: Answers = {
  'GET /v1/sims': { sims: [sim(), sim({ imsi_sha256_12: 'ba9876543210' })], next_cursor: null },
}

subscriber(
  'keeps a SIM in the list when it cannot be read for a moment, and drops one that is gone',
  async () => {
    const page = await open('/sims', {
      ...ANSWERS,
      ...LIST,
      [`GET ${SIM}`]: new Refusal(403, 'forbidden', 'no'),
    })
    await page.happens('sim.label', HASH)
    assert.is(page.rows().length, 2)
    // The list is read a moment later; what it says then would be no word on the single row.
    page.answer({ 'GET /v1/sims': new Refusal(503, 'not_ready', 'starting') })
    page.answer({ [`GET ${SIM}`]: sim({ label: 'new name' }) })
    await page.happens('sim.label', HASH)
    assert.match(page.text(), 'new name')
    page.answer({ [`GET ${SIM}`]: new Refusal(404, 'sim_not_found', 'none') })
    await page.happens('sim.label', HASH)
    assert.is(page.rows().length, 1)
  },
)

subscriber('tells two SIMs of one name apart in the list', async () => {
  const named = (hash: string, label: string | null) => sim({ imsi_sha256_12: hash, label })
  const rows = [named('0123456789ab', 'Anna'), named('ba9876543210', 'Anna'), named('ca9876543210', 'Ben')]
  const page = await open('/sims', {
    ...ANSWERS,
    ...LIST,
    'GET /v1/sims': { sims: rows, next_cursor: null, total: 3 },
  })
  assert.equal(
    page.rows().map((row) => row.find((cell) => /Anna|Ben/.test(cell))),
    ['Anna …89ab', 'Anna …3210', 'Ben'],
  )
})

subscriber('prints the SIMs that are ticked', async () => {
  const page = await open('/sims', { ...ANSWERS, ...LIST })
  assert.not.match(page.text(), '0 selected')
  document.querySelector<HTMLInputElement>('tbody input[type=checkbox]')?.click()
  await page.settled()
  assert.match(page.text('Selected SIMs'), '1 selected')
  await page.press('Handout')
  await page.press('Download')
  const asked = page.asked().find(({ call }) => call === 'GET /v1/sims/handout')
  assert.match(asked?.query.sims ?? '', /^[0-9a-f]{12}$/)
})

subscriber('forgets an old search when a link leads to some SIMs', async () => {
  const page = await open('/sims?q=anna', { ...ANSWERS, ...LIST })
  assert.is(page.field('Search').value, 'anna')
  const { navigate } = await import('../src/app/router.ts')
  navigate('/sims?batch_id=b-7')
  await page.settled()
  assert.is(page.field('Search').value, '')
  assert.ok(page.buttons().some((name) => name.includes('Batch: b-7')))
})

const TRIED = {
  ...{ batch_id: null, columns: [{ name: 'colour', read_as: null }], first_rows: [] },
  results: [
    { row: 1, line: 2, status: 'imported', imsi_sha256_12: HASH, error: null },
    { row: 2, line: 3, status: 'error', imsi_sha256_12: null, error: 'ki has 31 digits' },
    { row: 3, line: 4, status: 'exists', imsi_sha256_12: 'ba9876543210', error: null },
  ],
}

subscriber('imports only what was looked through, and says row by row what would become of it', async () => {
  const page = await open('/sims/import', { 'POST /v1/sims/import': TRIED })
  assert.ok(page.isDisabled('Check file'), 'nothing is chosen')
  await page.put('Rows', 'imsi,ki,colour\na\nb\nc')
  assert.ok(page.isDisabled('Import'))
  await page.press('Check file')
  assert.match(page.text(), '1 would be imported, 1 already there, 1 with an error')
  assert.match(page.text(), 'Ignored columns: colour')
  assert.equal(
    page.rows('Rows of the file').map((row) => row.slice(0, 3)),
    [['3', 'error', 'ki has 31 digits']],
  )
  await page.tick('Show all rows')
  assert.is(page.rows('Rows of the file').length, 3)
  assert.not(page.isDisabled('Import 1 row'))
  // All or none, and one has an error.
  await page.tick('All rows or none')
  assert.ok(page.isDisabled('Import 0 rows'))
  await page.put('Rows', 'imsi,ki\na')
  assert.ok(page.isDisabled('Import'), 'something else has not been looked through')
})

subscriber(
  'says that what is in stays in when an import is cut off, and goes on with the same rows',
  async () => {
    const page = await open('/sims/import', { 'POST /v1/sims/import': TRIED })
    await page.put('Rows', 'imsi,ki\na')
    await page.put('Label for rows without one', ' village ')
    await page.press('Check file')
    page.answer({ 'POST /v1/sims/import': new Refusal(409, 'conflict', 'too many rows') })
    await page.press('Import 1 row')
    assert.match(page.text(), 'Stored rows stay.')
    page.answer({ 'POST /v1/sims/import': { ...TRIED, batch_id: 'b-7' } })
    await page.press('Try again')
    assert.match(page.text(), 'Show batch b-7')
    assert.equal(
      page
        .asked()
        .filter(({ call }) => call.startsWith('POST'))
        .map(({ query }) => query),
      [{ dry_run: 'true', label: 'village' }, { label: 'village' }, { label: 'village' }],
    )
  },
)

subscriber('says of a box that writes to no core that a change reaches no phone', async () => {
  const provisioning = { status: 'synced', waits_for: null, last_error: null, driver: 'none' }
  const page = await shown(sim({ provisioning }))
  assert.match(page.text(), 'What you change here reaches no phone.')
  assert.not.match(page.text(), '(none)')
  assert.not.match((await shown(sim())).text(), 'reaches no phone')
})

subscriber('counts the rows that an import would bring in, and none where one keeps all out', () => {
  const results = ['imported', 'exists', 'error', 'updated'].map((status) => ({ status }))
  assert.is(rowsToImport({ results }, false), 2)
  assert.is(rowsToImport({ results }, true), 0)
  assert.is(rowsToImport({ results: results.filter(({ status }) => status !== 'error') }, true), 2)
})

subscriber.run()
