import { type Answers, inBrowser, open } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

/** What the page of the core says of a change of its configuration. */
const core = suite('core-config/plan')
inBrowser(core)

const STATUS = {
  ...{ core: 'core_a', plmn: '00101', tac: 7, apns: ['internet'], node_id: 'n1', mode: 'normal' },
  ...{
    enb: { known: true, connected: true, other_networks: [] },
    ue: { attached: 3 },
    tx: { armed: false },
    components: [],
  },
}
const PLAN = {
  ...{ state: 'in_sync', driver: 'container', notes: [], problems: [], held: [], files: [], daemons: [] },
  ...{ originals: [], overlays: [] },
  ...{ config_dir: '/etc/open5gs', subscribers_dropped: 0, expected_s: 0 },
}

function shown(given: Answers = {}, roles?: readonly string[], runs = ['core-config']) {
  const answers = {
    ...{ 'GET /v1/status': STATUS, 'GET /v1/core/plan': PLAN },
    'GET /v1/nodes': { nodes: [], next_cursor: null },
    'GET /v1/audit': { entries: [], next_cursor: null },
  }
  return open('/core', { ...answers, ...given }, { runs, ...(roles && { roles }) })
}

core('says of a change whom it costs the network, for how long, and what it does file by file', async () => {
  const daemon = { name: 'smf', action: 'restart', reason: 'its file differs', container: null }
  const files = [
    { path: 'smf.yaml', change: 'changed', daemon: 'smf', diff: '-a: 1\n+a: 2' },
    { path: 'upf.yaml', change: 'same', daemon: 'upf' },
  ]
  const changes = { ...PLAN, state: 'changes', files }
  for (const [dropped, seconds, says] of [
    [0, 2.4, ['0 phones lose the network for a short time.', 'This takes about 2 seconds.']],
    [1, 1, ['1 phone loses the network for a short time.', 'This takes about 1 second.']],
    [null, null, ['The core does not report how many', 'It is not known how long this takes.']],
  ] as const) {
    const plan = {
      ...{ ...changes, subscribers_dropped: dropped, expected_s: seconds },
      daemons: [{ ...daemon, subscribers_dropped: dropped, expected_s: 3 }],
    }
    const page = await shown({ 'GET /v1/core/plan': plan })
    const text = page.text('Planned change')
    for (const one of says) assert.match(text, one)
    assert.match(text, 'Files: 1 differs')
    assert.not.match(text, 'upf.yaml')
    assert.equal(page.rows('Daemons'), [
      ['smf', 'restarts', dropped === null ? 'unknown' : String(dropped), '3 s', 'its file differs', '–'],
    ])
  }
  const kinds = [...document.querySelectorAll('.diff span')].map((line) => line.getAttribute('class'))
  assert.equal(kinds, ['removed', 'added'])
})

core(
  'says of a core that is only looked at that nothing is changed, and folds what it would write',
  async () => {
    const files = [{ path: 'smf.yaml', change: 'changed', daemon: 'smf', diff: '-a: 1\n+a: 2' }]
    const held = ['smf.yaml']
    const plan = { ...PLAN, state: 'changes', driver: 'none', files, held, subscribers_dropped: 2 }
    const page = await shown({ 'GET /v1/core/plan': plan })
    const text = page.text('Planned change')
    assert.match(text, 'Nothing is changed. These are your settings.')
    assert.not.match(text, /must change|loses? the network/)
    assert.is(
      [...document.querySelectorAll('details')].every(({ open: isOpen }) => !isOpen),
      true,
    )
    assert.not(page.buttons().includes('Show what a release does'))
  },
)

core(
  'says of files that nobody has copied to the core yet what must change, and who copies them',
  async () => {
    const files = [{ path: 'smf.yaml', change: 'added', daemon: 'smf', diff: '+a: 2' }]
    const page = await shown({ 'GET /v1/core/plan': { ...PLAN, state: 'changes', driver: 'none', files } })
    const text = page.text('Planned change')
    for (const says of ['The core must change', 'Who runs the core makes this change'])
      assert.match(text, says)
    assert.not.match(text, 'These are your settings.')
  },
)

core('releases the core after it has shown what that does, and whom it leaves blocked', async () => {
  const file = { file: '/etc/svc/control.yaml', writable: true, lines: '', fixed: [], applied: false }
  const page = await shown({
    'GET /v1/core/plan': { ...PLAN, originals: ['/data/a'] },
    'POST /v1/sims/release': {
      ...{ subscribers: 200, others: 3, rates: 0 },
      blocked: 1,
      blocked_ids: ['0123456789ab'],
    },
    'POST /v1/core/restore-original': {
      ...{ edits: ['overlays/smf.yaml'], kept: '/data/core-originals/core_a', left: ['overlays/notes.txt'] },
      ...{ copy: 'a', changed: ['smf.yaml'], restarted: ['smf'], subscribers_dropped: 2, problem: null },
    },
    'PUT /v1/settings': file,
  })
  await page.press('Show what a release does')
  page.changes()
  const undone = 'overlays/smf.yaml. A copy is kept in /data/core-originals/core_a'
  const yours = 'yours and stay: overlays/notes.txt'
  for (const says of ['200 subscribers stay', '3 other', 'smf.yaml', undone, yours, '2 phones lose'])
    assert.match(page.text('Release the core'), says)
  await page.tick('Let the suspended on again first (1)')
  await page.press('Release')
  const settings = { 'hss.driver': 'none', 'southbound.driver': 'none' }
  assert.equal(page.changes(), [
    ['POST /v1/core/restore-original', {}],
    ['POST /v1/sims/release', { unblock: true }],
    ['PUT /v1/settings', { settings }],
  ])
  assert.match(page.text('Planned change'), 'The core is yours again. 200 subscribers stay in it.')
})

core(
  'releases also a core that the box only looks at, while something of the box is left in it',
  async () => {
    const writing = { settings: [{ key: 'hss.driver', value: 'docdb_shell' }], next_cursor: null }
    const sims = { sims: [{ imsi_sha256_12: '0123456789ab' }], next_cursor: null }
    const overlays = [{ path: 'smf.yaml', keys: ['smf.p-cscf'] }]
    const offered = async (plan: object, more: Answers = {}): Promise<boolean> => {
      const looking = { ...PLAN, driver: 'none', ...plan }
      const page = await shown({
        'GET /v1/core/plan': looking,
        'GET /v1/settings': writing,
        'GET /v1/sims': { ...sims, sims: [] },
        ...more,
      })
      return page.buttons().includes('Show what a release does')
    }
    const [originals, held] = [['/data/a'], ['smf.yaml']]
    assert.is(await offered({}), false, 'nothing is left')
    assert.is(await offered({ originals, overlays }), true)
    assert.is(await offered({ originals }), true, 'the files are still those of the box')
    assert.is(await offered({ originals, held }), false, 'after a release they are those of others')
    assert.is(await offered({ held }, { 'GET /v1/sims': sims }), true, 'the box writes its SIMs into the HSS')
    const looks = { settings: [{ key: 'hss.driver', value: 'none' }], next_cursor: null }
    assert.is(await offered({ held }, { 'GET /v1/sims': sims, 'GET /v1/settings': looks }), false)
  },
)

core('tells the lab, a box that writes nothing, and one that cannot be compared apart', async () => {
  const without = { ...PLAN, state: 'unconfigured' }
  const lab = await shown({ 'GET /v1/status': { ...STATUS, mode: 'lab' }, 'GET /v1/core/plan': without })
  assert.match(lab.text(), 'The lab core of npm start configures itself.')
  assert.not.match(lab.text(), 'Files:')
  assert.not.match((await shown({ 'GET /v1/core/plan': without })).text(), 'lab core')
  const unknown = { ...PLAN, state: 'unknown', driver: 'none', problems: ['/etc/open5gs cannot be read'] }
  const page = await shown({ 'GET /v1/core/plan': unknown })
  for (const says of ['cannot be compared', 'This box only compares', '/etc/open5gs cannot be read'])
    assert.match(page.text(), says)
})

core(
  'replaces files of others only after an admin has agreed, and nothing where it may write nothing',
  async () => {
    const held = ['amf.yaml']
    const page = await shown({ 'GET /v1/core/plan': { ...PLAN, held }, 'POST /v1/core/take-over': {} })
    await page.press('Copy and replace')
    assert.equal(page.changes(), [['POST /v1/core/take-over', { files: held }]])
    const operator = await shown({ 'GET /v1/core/plan': { ...PLAN, held } }, ['viewer', 'operator'])
    assert.match(operator.text(), 'amf.yaml')
    assert.not(operator.buttons().includes('Copy and replace'))
    const reads = await shown({ 'GET /v1/core/plan': { ...PLAN, held, driver: 'none' } })
    assert.not(reads.buttons().includes('Copy and replace'))
  },
)

core('says which edits by hand were undone, and where they are kept', async () => {
  const detail = { core: 'core_a', files: ['smf.yaml', 'scp.yaml'], copy: '/data/core-originals/core_a/1' }
  const entry = { seq: 9, at: '2026-01-01T12:00:00Z', action: 'core.edit_undone', detail }
  const page = await shown({ 'GET /v1/audit': { entries: [entry], next_cursor: null } })
  assert.match(
    page.text('Planned change'),
    /smf\.yaml, scp\.yaml: .* is kept in \/data\/core-originals\/core_a\/1/,
  )
  assert.not.match((await shown()).text('Planned change'), 'undone')
})

core('changes the name of the network and its DNS servers after it has shown what that does', async () => {
  const settings = [
    { key: 'core', value: 'core_a' },
    { key: 'southbound.driver', value: 'container' },
    { key: 'core_a.network_name', value: 'Harbour' },
    { key: 'core_a.dns', value: [] },
    { key: 'core_a.addresses', value: { mme: '10.0.0.2', dns: '9.9.9.9' } },
  ]
  const cost = { restarts: ['smf'], subscribers_dropped: 2, expected_s: 21, notes: ['mind'], problems: [] }
  const file = { file: '/etc/svc/control.yaml', writable: true, lines: '', fixed: [], applied: false }
  const answers = (given: readonly object[]) => ({
    'GET /v1/settings': { settings: given, next_cursor: null },
    'PUT /v1/settings': { ...file, core: cost },
  })
  const page = await shown(answers(settings))
  assert.is(page.field('Network name').value, 'Harbour')
  assert.is(page.field('DNS servers').value, '9.9.9.9')
  assert.match(page.text('What phones are told'), 'Empty: those of core_a.addresses, else public ones.')
  await page.put('DNS servers', '1.1.1.1, 9.9.9.9')
  await page.press('Show effect', 'What phones are told')
  const body = { settings: { 'core_a.dns': ['1.1.1.1', '9.9.9.9'] } }
  const dry = page.asked().findLast(({ call }) => call === 'PUT /v1/settings')
  assert.equal([dry?.query, page.changes()], [{ dry_run: 'true' }, [['PUT /v1/settings', body]]])
  for (const says of ['These parts restart: smf.', '2 phones lose the network', 'mind'])
    assert.match(page.text('Effect on the core'), says)
  await page.press('Save', 'Effect on the core')
  assert.equal(page.changes(), [['PUT /v1/settings', body]])
  const quiet = { ...cost, restarts: [], subscribers_dropped: 0, problems: ['no room'] }
  const unknown = { ...quiet, subscribers_dropped: null, notes: [] }
  for (const [core, says, isKnown] of [
    [quiet, ['No part restarts', 'mind', 'no room'], true],
    [unknown, ['The effect is not known', 'no room'], false],
  ] as const) {
    const other = await shown({ ...answers(settings), 'PUT /v1/settings': { ...file, core } })
    await other.put('DNS servers', '1.1.1.1')
    await other.press('Show effect', 'What phones are told')
    const text = other.text('Effect on the core')
    for (const one of says) assert.match(text, one)
    assert.is(text.includes('No part restarts'), isKnown)
  }
  const looking = settings.map((one) => (one.key === 'southbound.driver' ? { ...one, value: 'none' } : one))
  assert.not.match((await shown(answers(looking))).text(), 'What phones are told')
  assert.not.match((await shown(answers(settings), ['viewer', 'operator'])).text(), 'What phones are told')
})

core('shows the plan to who may read it, where the box keeps its core', async () => {
  assert.not.match((await shown({}, ['viewer'])).text(), 'Planned change')
  assert.not.match((await shown({}, undefined, [])).text(), 'Planned change')
  assert.match((await shown()).text(), 'Planned change')
})

core('shows the effect of a change of APNs before it is made, where the box keeps its core', async () => {
  const policy = {
    ...{ revision: 3, updated_at: '2026-01-01T12:00:00Z', apns: ['internet'], sim_swap_cooldown_hours: 24 },
    ...{ retention_days: { sessions: 30, audit: 400, metrics: 90 }, mesh: { allow_route_advertise: false } },
    ...{ rate_limits: {}, spectrum: { allow_list: [], license: { acknowledged: false } } },
  }
  const answers = {
    'GET /v1/policy': policy,
    'PUT /v1/policy': { ...policy, apns: ['ims'] },
    'GET /v1/core/plan': { ...PLAN, state: 'changes', subscribers_dropped: 2 },
  }
  const page = await open('/start', answers, { runs: ['core-config'] })
  await page.put('APN names', 'ims')
  await page.press('Show effect', '6. Internet access (APN)')
  assert.match(page.text('Effect on the core'), '2 phones lose the network')
  assert.equal(page.changes(), [])
  assert.equal(page.asked().findLast(({ call }) => call === 'GET /v1/core/plan')?.query, { apns: 'ims' })
  await page.press('Apply')
  assert.equal(page.changes(), [['PUT /v1/policy', { apns: ['ims'] }]])
  const rules = await open('/rules', answers, { runs: ['core-config'] })
  await rules.put('APN names', 'ims')
  assert.not(rules.buttons().includes('Save rules'), 'first it is shown')
  await rules.press('Show effect')
  assert.match(rules.text('Effect on the core'), '2 phones lose the network')
  assert.equal(rules.changes(), [])
  await rules.press('Save rules')
  assert.equal(rules.changes(), [['PUT /v1/policy', { apns: ['ims'] }]])
  const without = await open('/start', answers)
  await without.put('APN names', 'ims')
  await without.press('Save', '6. Internet access (APN)')
  assert.equal(without.changes(), [['PUT /v1/policy', { apns: ['ims'] }]])
})

core('starts a core that is down where the box manages it, and says who does where it does not', async () => {
  const incidents = [{ kind: 'no_core', severity: 'critical' }]
  const down = { 'GET /v1/health': { components: [], incidents } }
  const answer = { restarted: ['mme', 'smf'], subscribers_dropped: 2 }
  const ours = await shown({ ...down, 'POST /v1/core/restart': answer })
  await ours.press('Restart the core')
  assert.match(ours.text(), 'These parts restart, one after the other: mme, smf.')
  assert.match(ours.text(), '2 phones lose the network')
  assert.equal(ours.changes(), [['POST /v1/core/restart', { dry_run: true }]])
  await ours.press('Restart the core', 'Restart the core')
  assert.equal(ours.changes(), [['POST /v1/core/restart', {}]])
  assert.match(ours.text(), 'Restarted: mme, smf.')
  const theirs = await shown({ ...down, 'GET /v1/core/plan': { ...PLAN, driver: 'none' } })
  assert.match(theirs.text('Planned change'), 'start them on their machine')
  for (const page of [theirs, await shown(down, ['viewer', 'operator']), await shown()])
    assert.not(page.buttons().includes('Restart the core'))
})

core.run()
