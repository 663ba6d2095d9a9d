import { assert, suite } from '@steeple/testkit'
import { restartedOf } from '../src/pages/core/restarted.ts'
import { type Answers, inBrowser, open, Refusal } from './support/page.ts'

/** What the page of the core says, and where the box may be told to go. */
const core = suite('console/core')
inBrowser(core)

const STATUS = {
  ...{ core: 'core_a', plmn: '00101', tac: 7, apns: ['internet', 'ims'], node_id: 'n1', mode: 'normal' },
  ...{ enb: { known: true, connected: true }, ue: { attached: 3 }, tx: { armed: false } },
  ...{ components: [], incidents: [], uptime_s: 9 },
}
const PLAN = {
  ...{ state: 'in_sync', driver: 'container', notes: [], problems: [], held: [], files: [], daemons: [] },
  ...{ config_dir: '/etc/open5gs', subscribers_dropped: 0, expected_s: 0 },
}
const node = (lifecycle: string, degraded_reason: string | null = null) => ({
  'GET /v1/nodes': { nodes: [{ node_id: 'n1', lifecycle, degraded_reason }], next_cursor: null },
})
const NO_TRAIL = { 'GET /v1/audit': { entries: [], next_cursor: null } }

function shown(given: Answers = {}, roles?: readonly string[]) {
  const answers = { 'GET /v1/status': STATUS, 'GET /v1/core/plan': PLAN, ...node('register'), ...NO_TRAIL }
  return open('/core', { ...answers, ...given }, { runs: ['core-config'], ...(roles && { roles }) })
}

core('says of each entry of the trail which daemons were restarted, and why', () => {
  const of = (detail: object | null) => {
    const { daemons, why, files } = restartedOf({
      seq: 1,
      at: '2026-11-23T16:00:00.000Z',
      detail: detail as never,
    })
    return [daemons, why, files]
  }
  const why = 'the UPF has none of its sessions'
  assert.equal(of({ core: 'core_a', daemons: ['smf'], reason: why }), [['smf'], why, []])
  assert.equal(of({ core: 'core_a', changed: ['mme.yaml'], restarted: ['mme', 'sgwc'] }), [
    ['mme', 'sgwc'],
    undefined,
    ['mme.yaml'],
  ])
  assert.equal(of(null), [[], undefined, []])
})

core('shows the last restarts of both kinds, the newest first, and none that restarted nothing', async () => {
  const entry = (seq: number, detail: object) => ({ seq, at: '2026-11-23T16:00:00.000Z', detail })
  const page = await shown({
    'GET /v1/audit': ({ query }) => ({
      entries:
        query.action === 'core.restart'
          ? [
              entry(9, { daemons: ['smf'], reason: 'it hung' }),
              entry(3, { daemons: ['upf'], reason: 'gone' }),
            ]
          : [
              entry(5, { changed: ['mme.yaml'], restarted: ['mme'] }),
              entry(4, { changed: ['x'], restarted: [] }),
            ],
      next_cursor: null,
    }),
  })
  const lines = page
    .text('Last restarts')
    .split('\n')
    .filter((line) => /^(smf|mme|upf)/.test(line))
  assert.equal(
    lines.map((line) => line.replace(/ \d+ .*| last .*/, '')),
    ['smf: it hung', 'mme: its configuration changed (mme.yaml)', 'upf: gone'],
  )
})

core('tells what is not known from what is not', async () => {
  for (const [enb, ue, radio, phones] of [
    [{ known: true, connected: true }, { attached: 0 }, 'connected', '0'],
    [{ known: true, connected: false }, { attached: 3 }, 'not connected', '3'],
    [{ known: false, connected: false }, { attached: null }, 'unknown', 'unknown'],
  ] as const) {
    const page = await shown({ 'GET /v1/status': { ...STATUS, enb, ue } })
    const lines = page.text('Network').split('\n')
    assert.is(lines[lines.indexOf('Radio at the core') + 1], radio)
    assert.is(lines[lines.indexOf('Phones attached') + 1], phones)
  }
})

core('offers from each state of the box the ones that it may be told to go to', async () => {
  for (const [state, ways] of [
    ['provision', ['Change to: Registered']],
    ['register', ['Change to: On the air']],
    ['on-air', ['Change to: Registered', 'Change to: In a mesh']],
    ['peer', ['Change to: On the air', 'Change to: Phones online']],
    ['breakout', []],
    ['of another release', []],
  ] as const) {
    const page = await shown(node(state))
    assert.equal(page.buttons('State of this box'), ways, state)
    const viewer = await shown(node(state), ['viewer'])
    assert.equal(viewer.buttons('State of this box'), [], state)
  }
})

core(
  'sends where the box is to go from where it was seen, and forces only what the mesh has to say',
  async () => {
    const page = await shown({
      ...node('on-air', 'no radio is connected'),
      'POST /v1/lifecycle/transition': new Refusal(409, 'lifecycle_conflict', 'no peer is linked'),
    })
    assert.match(page.text(), 'Something needs attention: no radio is connected')
    await page.press('Change to: Registered')
    assert.equal(page.ticks(), [])
    await page.press('Cancel')
    await page.press('Change to: In a mesh')
    await page.press('Change state')
    assert.match(page.text(), 'no peer is linked')
    await page.tick('Skip the checks of the mesh')
    page.answer({ 'POST /v1/lifecycle/transition': { to: 'peer' } })
    await page.press('Change state')
    assert.equal(page.changes(), [
      ['POST /v1/lifecycle/transition', { from: 'on-air', to: 'peer' }],
      ['POST /v1/lifecycle/transition', { from: 'on-air', to: 'peer', force: true }],
    ])
    assert.match(page.text(), 'The box is now: In a mesh.')
    const operator = await shown(node('on-air'), ['viewer', 'operator'])
    await operator.press('Change to: In a mesh')
    assert.equal(operator.ticks(), [], 'an admin alone may force it')
  },
)

core('says that a profile has to be armed before the box can go on the air', async () => {
  for (const armed of [true, false]) {
    const page = await shown({ 'GET /v1/status': { ...STATUS, tx: { armed } } })
    await page.press('Change to: On the air')
    assert.is(page.text().includes('No radio profile is armed.'), !armed)
  }
})

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

core('tells the lab, a box that writes nothing, and one that cannot be compared apart', async () => {
  const without = { ...PLAN, state: 'unconfigured' }
  const lab = await shown({ 'GET /v1/status': { ...STATUS, mode: 'lab' }, 'GET /v1/core/plan': without })
  assert.match(lab.text(), 'The lab core of npm start configures itself.')
  assert.not.match(lab.text(), 'Files:')
  assert.not.match((await shown({ 'GET /v1/core/plan': without })).text(), 'lab core')
  const unknown = { ...PLAN, state: 'unknown', driver: 'none', problems: ['/etc/open5gs cannot be read'] }
  const page = await shown({ 'GET /v1/core/plan': unknown })
  for (const says of ['cannot be compared', 'southbound.driver is none', '/etc/open5gs cannot be read'])
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

core('shows the plan and the restarts to who may read them, where the box has them', async () => {
  const viewer = await shown({}, ['viewer'])
  assert.not.match(viewer.text(), 'Planned change')
  assert.not.match(viewer.text(), 'Last restarts')
  const without = await open('/core', { 'GET /v1/status': STATUS, ...node('register'), ...NO_TRAIL })
  assert.not.match(without.text(), 'Planned change')
  assert.match(without.text(), 'Last restarts')
})

core.run()
