import { h, inBrowser, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Panel } = await import('../../pages/software.tsx')

/** Which build a box runs, and how far others are. */
const software = suite('groups/pages/software')
inBrowser(software)

const build = (id: string, version: string, trusted = true) => ({
  ...{
    build: id,
    version,
    made_at: '2026-11-30T00:00:00Z',
    arch: 'x64',
    folder: `steeple-${version}`,
    trusted,
  },
})
const NOW = {
  running: { build: 'aaaaaaaaaaaa', version: '0.2.0' },
  launched: true,
  trial: null,
  wanted: { build: 'cccccccccccc', status: 'went_back', problem: 'not well in time', since: null },
  went_back: ['cccccccccccc'],
  rollouts: [
    {
      ...{ build: 'bbbbbbbbbbbb', stage: 'stopped', given: ['n-1'], well_since: null },
      stopped_by: 'n-1',
    },
  ],
  builds: [
    build('aaaaaaaaaaaa', '0.2.0'),
    build('bbbbbbbbbbbb', '0.3.0'),
    build('cccccccccccc', '0.3.1'),
    build('dddddddddddd', '0.4.0', false),
  ],
}
const BOX = {
  ...{ node_id: 'n-1', name: 'hill', groups: ['villages'], version: 3, has_version: 3, told_at: null },
  ...{ standing: 'in_step', permitted: ['software'], parts: [] },
}
const GROUP = {
  ...{ name: 'villages', rank: 2, members: { all: false, nodes: ['n-1'] }, boxes: 1 },
  ...{ updated_at: '2026-11-30T00:00:00Z', updated_by: 'token:a' },
  state: {
    policy: { sim_swap_cooldown_hours: 48 },
    software: { build: 'aaaaaaaaaaaa', hours: { from: 1, to: 4 } },
  },
}
const answers = (now: object, boxes: readonly object[] = [BOX], groups: readonly object[] = [GROUP]) => ({
  'GET /v1/software': now,
  'GET /v1/desired-state': { boxes, next_cursor: null },
  'GET /v1/groups': { groups, next_cursor: null },
  'PUT /v1/software': now,
  'PUT /v1/groups/villages': GROUP,
})

software('say what runs here, what came of another one, and which box stopped a roll-out', async () => {
  const page = await show(() => h(Panel, {}), answers(NOW))
  const rows = new Map(page.rows().map((row) => [row[0]?.split(' ')[0], row.join(' ')]))
  assert.match(rows.get('0.2.0') ?? '', 'runs here')
  assert.match(rows.get('0.3.0') ?? '', 'ready')
  assert.match(rows.get('0.3.1') ?? '', 'was not well here')
  assert.match(rows.get('0.4.0') ?? '', 'does not trust')
  assert.not.match(rows.get('0.4.0') ?? '', 'Run here')
  for (const says of [
    'build aaaaaaaaaaaa',
    'not well in time',
    '0.3.0 (bbbbbbbbbbbb): stopped',
    'Stopped by hill.',
  ])
    assert.match(page.text(), says)
})

software('offer no other build where nothing would start it', async () => {
  const page = await show(() => h(Panel, {}), answers({ ...NOW, launched: false }))
  assert.match(page.text(), 'cannot change to another build by itself')
  assert.not.match(page.text(), 'Run here')
})

software('let a build out to a group, whose other parts and hours stay', async () => {
  const page = await show(() => h(Panel, {}), answers({ ...NOW, builds: [build('bbbbbbbbbbbb', '0.3.0')] }))
  await page.press('Roll out')
  await page.press('Roll out', 'Roll out version 0.3.0')
  assert.equal(page.changes(), [
    [
      'PUT /v1/groups/villages',
      {
        ...{ members: GROUP.members, rank: 2 },
        state: { ...GROUP.state, software: { build: 'bbbbbbbbbbbb', hours: { from: 1, to: 4 } } },
      },
    ],
  ])
})

software.run()
