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
  ...{ settings: {}, apns: null, lines: '', adopted: COST, replaced: COST },
  files: [
    {
      ...{ path: 'mme.yaml', daemon: 'mme', kept: ['mme.metrics'], subscribers_dropped: 3 },
      differences: [{ key: 'mme.tai.0.tac', found: '1', written: '7' }],
    },
  ],
  ...{ notes: [], problems: [], unseen: ['containers were not looked at: no engine answers'] },
}

function shown(answer: object, roles?: readonly string[]) {
  return open(
    '/core',
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
        ...{ config_dir: '/etc/open5gs', subscribers_dropped: 0, expected_s: 0 },
      },
      'GET /v1/nodes': { nodes: [], next_cursor: null },
      'GET /v1/audit': { entries: [], next_cursor: null },
      'GET /v1/core/found': answer,
      'POST /v1/core/adopt': {},
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
    await page.press('Take over and keep the lines')
    assert.equal(page.changes(), [
      ['POST /v1/core/adopt', { ours: [{ path: 'mme.yaml', key: 'mme.tai.0.tac' }] }],
    ])
  },
)

found('gives the settings that fit where others are in force, and takes nothing over before', async () => {
  const page = await shown({ ...FOUND, settings: { tac: 1 }, lines: 'tac: 1\n' })
  await page.press('Look for it')
  assert.match(page.text('A core that already runs'), 'tac: 1')
  assert.not(page.buttons().includes('Take over and keep the lines'))
  const operator = await shown(FOUND, ['viewer', 'operator'])
  await operator.press('Look for it')
  assert.not(operator.buttons().includes('Take over and keep the lines'))
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
    const told = async (answer: object): Promise<string> =>
      (await show(() => h(AtStart, {}), { 'GET /v1/core/found': answer })).text()
    const other = { ...FOUND, settings: { tac: 1 }, lines: 'tac: 1\n' }
    assert.match(await told(other), /A core runs on this machine already \(mme; network 999-70\)/)
    assert.not.match(await told(FOUND), 'A core runs')
    assert.not.match(await told({ ...other, core: null, daemons: [], network: null }), 'A core runs')
  },
)

found.run()
