import { h, inBrowser, open, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Panel: AtStart } = await import('../../pages/found-start.tsx')

/** What the page of the core says of a core that somebody else has set up. */
const found = suite('core-config/found')
inBrowser(found)

const COST = { restarts: [], subscribers_dropped: 0, expected_s: 0 }
const FOUND = {
  core: 'core_a',
  daemons: [
    {
      ...{ core: 'core_a', role: 'mme', kind: 'unit', name: 'open5gs-mmed.service', running: true },
      ...{ config_file: '/etc/open5gs/mme.yaml', version: '2.7.0' },
    },
  ],
  network: {
    ...{ plmn: '999-70', tacs: ['1'], pools: [{ apn: 'internet', subnet: '10.45.0.0/16' }] },
    ...{ slices: [{ sst: 1 }], dns: ['8.8.8.8'], addresses: {} },
  },
  ...{ settings: {}, drive: {}, apns: null, lines: '', adopted: COST, replaced: COST },
  files: [
    {
      ...{ path: 'mme.yaml', daemon: 'mme', kept: ['mme.metrics'], subscribers_dropped: 3 },
      differences: [{ key: 'mme.tai.0.tac', found: '1', written: '7' }],
    },
  ],
  ...{ base_stations: 2, apns_gone: [], subscribers_pending: 0 },
  ...{ notes: [], problems: [], unseen: ['containers were not looked at: no engine answers'] },
}

function shown(
  answer: object,
  roles?: readonly string[],
  writable = true,
  address = '/core',
  core: object | null = null,
) {
  return open(
    address,
    {
      'GET /v1/status': {
        ...{ core: 'core_a', plmn: '00101', tac: 7, apns: ['internet'], node_id: 'n1', mode: 'normal' },
        ...{
          enb: { known: true, connected: true, other_networks: [] },
          ue: { attached: 3 },
          tx: { armed: false },
          components: [],
        },
      },
      'GET /v1/core/plan': {
        ...{ state: 'in_sync', driver: 'none', notes: [], problems: [], held: [], files: [], daemons: [] },
        ...{ config_dir: '/etc/open5gs', subscribers_dropped: 0, expected_s: 0, originals: [], overlays: [] },
      },
      'GET /v1/nodes': { nodes: [], next_cursor: null },
      'GET /v1/audit': { entries: [], next_cursor: null },
      'GET /v1/core/found': answer,
      'POST /v1/core/adopt': { copy: '/data/core-originals/a' },
      'PUT /v1/settings': {
        applied: true,
        file: '/etc/svc/control.yaml',
        writable,
        lines: 'tac: 1\n',
        fixed: [],
        core,
      },
      'PUT /v1/policy': {},
    },
    { runs: ['core-config'], ...(roles && { roles }) },
  )
}

found(
  'looks when it is asked to, and takes the core over with all lines but those that are ticked',
  async () => {
    const page = await shown(FOUND)
    assert.not.match(page.text(), 'open5gs-mmed.service')
    await page.press('Look for it')
    const text = page.text('A core that already runs')
    for (const says of [
      'open5gs-mmed.service',
      '999-70',
      'internet 10.45.0.0/16',
      'no engine answers',
      'mme.metrics',
    ])
      assert.match(text, says)
    await page.tick('mme.tai.0.tac: 1 → 7')
    await page.press('Let the box drive it')
    assert.match(page.text('Let the box drive it'), 'These parts restart: mme.')
    assert.match(page.text('Let the box drive it'), '3 phones lose the network')
    assert.match(
      page.text('Let the box drive it'),
      /Base stations are set to these lines.*2 base stations are connected now\..*mme\.yaml: mme\.tai\.0\.tac/s,
    )
    await page.press('Let the box drive it')
    assert.match(page.text('A core that already runs'), 'a copy of the files is in /data/core-originals/a')
    assert.equal(page.changes(), [
      ['POST /v1/core/adopt', { ours: [{ path: 'mme.yaml', key: 'mme.tai.0.tac' }] }],
    ])
  },
)

const OTHER = {
  ...FOUND,
  ...{
    settings: { tac: 1 },
    drive: { 'southbound.driver': 'systemd' },
    ...{ apns: ['internet'], apns_gone: ['crane'], subscribers_pending: 3 },
    lines: 'tac: 1\n',
  },
}

found('says before it drives a core which APNs go from the rules, and how many SIMs it writes', async () => {
  const page = await shown(OTHER)
  await page.press('Look for it')
  await page.press('Let the box drive it')
  const dialog = page.text('Let the box drive it')
  for (const says of ['These APNs go from the rules: crane.', '3 SIMs are written into the core'])
    assert.match(dialog, says)
})

found('says of what a core has none of that there is none', async () => {
  const network = { ...FOUND.network, tacs: [], pools: [], slices: [], dns: [] }
  const page = await shown({ ...FOUND, network }, undefined, true, '/core?found')
  assert.is(
    page
      .text('A core that already runs')
      .split('\n')
      .filter((line) => line === '–').length,
    4,
  )
})

found('looks by itself for who comes from where a core was found', async () => {
  const page = await shown(OTHER, undefined, true, '/core?found')
  assert.match(page.text('A core that already runs'), 'Only watch it')
})

found('only watches a core with its settings, which nobody has to write', async () => {
  const page = await shown(OTHER)
  await page.press('Look for it')
  assert.match(page.text('A core that already runs'), 'Nothing is changed. These are your settings.')
  await page.press('Only watch it')
  await page.press('Only watch it')
  assert.equal(page.changes(), [
    ['PUT /v1/settings', { settings: { tac: 1 } }],
    ['PUT /v1/settings', { settings: { tac: 1 } }],
    ['PUT /v1/policy', { apns: ['internet'] }],
  ])
  assert.match(page.text('A core that already runs'), 'The box watches this core.')
})

found('says that nobody loses the network before it drives a core, and sets what that needs', async () => {
  const page = await shown(OTHER)
  await page.press('Look for it')
  await page.press('Let the box drive it')
  assert.match(page.text('Let the box drive it'), 'No part restarts, and no phone loses the network.')
  await page.press('Let the box drive it')
  const settings = { tac: 1, 'southbound.driver': 'systemd' }
  assert.equal(page.changes().slice(-3), [
    ['PUT /v1/settings', { settings }],
    ['PUT /v1/policy', { apns: ['internet'] }],
    ['POST /v1/core/adopt', { ours: [] }],
  ])
})

found('writes no settings by which a core that is driven already would restart', async () => {
  const core = { ...COST, restarts: ['mme', 'amf'], subscribers_dropped: 3, notes: [], problems: [] }
  const page = await shown({ ...OTHER, drive: {} }, undefined, true, '/core', core)
  await page.press('Look for it')
  await page.press('Let the box drive it')
  await page.press('Let the box drive it')
  const dialog = page.text('Let the box drive it')
  for (const says of ['Nothing was changed', 'These parts restart: mme, amf.', '3 phones lose the network'])
    assert.match(dialog, says)
  const tried = page.asked().findLast(({ call }) => call === 'PUT /v1/settings')
  assert.equal(tried?.query, { found: 'true', dry_run: 'true' })
  assert.equal(page.changes(), [['PUT /v1/settings', { settings: { tac: 1 } }]])
})

found('gives the lines where the box may not write its file, and shows others no way in', async () => {
  const page = await shown(OTHER, undefined, false)
  await page.press('Look for it')
  await page.press('Only watch it')
  await page.press('Only watch it')
  assert.match(page.text('Only watch it'), '/etc/svc/control.yaml')
  assert.equal(page.changes(), [['PUT /v1/settings', { settings: { tac: 1 } }]])
  for (const [answer, roles] of [
    [OTHER, ['viewer', 'operator']],
    [{ ...OTHER, drive: null }, undefined],
  ] as const) {
    const other = await shown(answer, roles)
    await other.press('Look for it')
    assert.not(other.buttons().includes('Let the box drive it'))
  }
})

found('says that no core was found, and what could not be looked at', async () => {
  const page = await shown({ ...FOUND, core: null, daemons: [], network: null, files: [] })
  await page.press('Look for it')
  const text = page.text('A core that already runs')
  assert.match(text, 'No part of a core was found on this machine.')
  assert.match(text, 'no engine answers')
})

found(
  'says where a new box is set up that a core runs already, until its settings are taken over',
  async () => {
    const box = { mode: 'normal', components: [{ kind: 'hss', status: 'ok' }], incidents: [] }
    const told = async (answer: object, status: object = box): Promise<string> => {
      const answers = { 'GET /v1/core/found': answer, 'GET /v1/status': status }
      return (await show(() => h(AtStart as never, {}), answers)).text()
    }
    // The same role in several namespaces, or as a container beside a unit.
    const daemons = [...FOUND.daemons, { ...FOUND.daemons[0], kind: 'container' }]
    const other = { ...FOUND, daemons, settings: { tac: 1 }, lines: 'tac: 1\n' }
    assert.match(await told(other), /A core runs on this machine already \(mme; network 999-70\)/)
    assert.not.match(await told(FOUND), 'A core runs')
    const overview = async (state: string): Promise<string> => {
      const plan = { state, driver: 'none' }
      const answers = { 'GET /v1/core/found': other, 'GET /v1/core/plan': plan }
      return (await show(() => h(AtStart, { isKnown: () => false, status: box } as never), answers)).text()
    }
    assert.match(await overview('unconfigured'), 'Look at this core')
    assert.not.match(await overview('changes'), 'Look at this core')
    // Others' programs beside the core that the box uses are nothing to take over.
    assert.not.match(await told(other, { ...box, mode: 'lab' }), 'A core runs')
    assert.not.match(await told(other, { ...box, incidents: [{ kind: 'no_core' }] }), 'A core runs')
    const away = { ...box, mode: 'lab', components: [{ kind: 'hss', status: 'degraded' }] }
    assert.match(await told(other, away), 'A core runs')
    assert.not.match(await told({ ...other, core: null, daemons: [], network: null }), 'A core runs')
  },
)

found.run()
