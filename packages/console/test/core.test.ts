import { assert, suite } from '@steeple/testkit'
import { type Answers, inBrowser, open, Refusal } from './support/page.ts'

const { restartedOf } = await import('../src/pages/core/core.tsx')

/** What the page of the core says, and where the box may be told to go. */
const core = suite('console/core')
inBrowser(core)

const STATUS = {
  ...{ core: 'core_a', plmn: '00101', tac: 7, apns: ['internet', 'ims'], node_id: 'n1', mode: 'normal' },
  ...{ enb: { known: true, connected: true, other_networks: [] }, ue: { attached: 3 }, tx: { armed: false } },
  ...{ components: [], incidents: [], uptime_s: 9 },
}
const AT = '2026-01-01T12:00:00Z'
const incident = (kind: string) => ({
  ...{ id: kind, kind, severity: 'critical', title: kind, detail: '', advice: '', impact: '', since: AT },
  ...{ component: 'driver-core-a.daemons', effects: [], phones_off: 13, runbook: '/docs/x', box: null },
})
const node = (lifecycle: string, degraded_reason: string | null = null) => ({
  'GET /v1/nodes': { nodes: [{ node_id: 'n1', lifecycle, degraded_reason }], next_cursor: null },
})
const NO_TRAIL = { 'GET /v1/audit': { entries: [], next_cursor: null } }

function shown(given: Answers = {}, roles?: readonly string[]) {
  const answers = { 'GET /v1/status': STATUS, ...node('register'), ...NO_TRAIL }
  return open('/core', { ...answers, ...given }, roles && { roles })
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
    [
      { known: true, connected: false, other_networks: ['999-99'] },
      { attached: 0 },
      'connected, in another network (999-99)',
      '0',
    ],
  ] as const) {
    const status = { ...STATUS, enb: { ...STATUS.enb, ...enb }, ue }
    const page = await shown({ 'GET /v1/status': status })
    const lines = page.text('Network').split('\n')
    assert.is(lines[lines.indexOf('Radio at the core') + 1], radio)
    assert.is(lines[lines.indexOf('Phones attached') + 1], phones)
  }
})

core('says nothing of what it was told before the core or the radio was lost', async () => {
  const part = (name: string, kind: string, detail: string, status = 'ok') => ({
    ...{ name, kind, status, detail, since: AT, last_ok_at: AT },
  })
  const sessions = part('driver-core-a.sessions', 'core', 'every attached phone has its session')
  for (const [kind, radio, phones] of [
    ['no_core', /^not known since /, /^not known since /],
    ['no_radio', /^not connected$/, /^none: .* still counts 13\.$/],
  ] as const) {
    const cause = part('driver-core-a.daemons', 'core', 'gone', 'down')
    const page = await shown({
      'GET /v1/status': {
        ...STATUS,
        enb: { ...STATUS.enb, connected: kind === 'no_core' },
        ue: { attached: 13 },
        components: [cause, sessions],
        incidents: [incident(kind)],
      },
      'GET /v1/health': { components: [], incidents: [incident(kind)] },
    })
    const lines = page.text('Network').split('\n')
    assert.match(lines[lines.indexOf('Radio at the core') + 1] ?? '', radio)
    assert.match(lines[lines.indexOf('Phones attached') + 1] ?? '', phones)
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

core('shows the restarts to who may read them', async () => {
  const viewer = await shown({}, ['viewer'])
  assert.not.match(viewer.text(), 'Last restarts')
  assert.match((await shown()).text(), 'Last restarts')
})

core.run()
