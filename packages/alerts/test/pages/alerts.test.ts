import { type Answers, h, inBrowser, open, Refusal, show } from '@steeple/console/testing'
import { assert, suite } from '@steeple/testkit'

const { Page } = await import('../../pages/alerts.tsx')

/** Alerts as night duty has them before them, and who is told of them. */
const alerts = suite('alerts/pages')
inBrowser(alerts)

const AT = '2026-01-01T12:00:00Z'
const alert = (id: string, more: object = {}) => ({
  ...{ id, rule: 'session_surge', subject: 'disk', label: null, severity: 'warning', state: 'firing' },
  ...{ message: `message ${id}`, value: null, threshold: null, started_at: AT, resolved_at: null },
  ...{ acked_at: null, acked_by: null, silenced_until: null, ...more },
})
const receiver = (name: string, more: object = {}) => ({
  ...{ name, kind: 'ntfy', source: 'store', server: 'ntfy.sh', min_severity: 'warning', resolved: true },
  ...{
    allow_private: false,
    waiting: 0,
    parked: 0,
    last_error: null,
    settings: { server: 'https://ntfy.sh' },
  },
  ...more,
})
const incident = (more: object = {}) => ({
  ...{
    id: 'i1',
    kind: 'no_core',
    severity: 'critical',
    title: 'No core',
    detail: '',
    advice: '',
    impact: '',
  },
  ...{
    component: 'driver-core-a.daemons',
    effects: ['sessions.store'],
    phones_off: 14,
    runbook: '/docs/x',
    box: null,
  },
  ...{ since: AT, ...more },
})
const ANSWERS: Answers = {
  'GET /v1/alerts': { alerts: [], next_cursor: null },
  'GET /v1/alerts/receivers': { enabled: true, receivers: [] },
  'GET /v1/status': { components: [], incidents: [] },
  'GET /v1/incidents': { incidents: [] },
}

async function shown(tab: string, given: Answers, roles?: readonly string[]) {
  await open(`/audit?tab=${tab}`, {})
  return show(() => h(Page, {}), { ...ANSWERS, ...given }, { roles })
}
const open_ = (all: readonly object[], more: Answers = {}, roles?: readonly string[]) =>
  shown('open', { 'GET /v1/alerts': { alerts: all, next_cursor: null }, ...more }, roles)

alerts('shows the gravest first, and under an outage what says the same', async () => {
  const all = [
    alert('a', { severity: 'info' }),
    alert('b', { subject: 'driver-core-a.daemons', severity: 'critical' }),
    alert('c', { severity: 'critical', subject: 'clock' }),
    alert('d', { subject: 'store' }),
    alert('e'),
  ]
  const page = await open_(all, { 'GET /v1/status': { components: [], incidents: [incident()] } })
  const messages = page
    .text()
    .split('\n')
    .filter((line) => line.startsWith('message'))
  // `store` is an effect of the outage, by the name that rules call it.
  assert.equal(messages, ['message b', 'message d', 'message c', 'message e', 'message a'])
  assert.match(page.text(), '2 alerts about it')
  assert.match(page.text(), '14 phones are off')
})

alerts('shows no alert of an outage that is over, and all while nobody knows', async () => {
  const all = [alert('a', { rule: 'component_down' }), alert('b', { rule: 'clock_skew', subject: 'clock' })]
  const well = await open_(all, { 'GET /v1/status': { components: [{}, {}], incidents: [] } })
  assert.not.match(well.text(), 'message')
  assert.match(well.text(), /Checked 2 things at .*: all is well/)
  const unknown = await open_(all, { 'GET /v1/status': new Refusal(403, 'forbidden', 'no') })
  assert.match(unknown.text(), 'message a')
  assert.match(unknown.text(), 'message b')
})

alerts('lists an outage that is over once, with how long it lasted and what it meant', async () => {
  const over = {
    ...{ id: 'no_core', kind: 'no_core', severity: 'critical', title: 'No core', box: null },
    ...{ component: 'driver-core-a.daemons', phones_off: 13, since: AT, until: '2026-01-01T12:02:00Z' },
  }
  const page = await shown('past', {
    'GET /v1/incidents': { incidents: [{ ...over, id: 'x', until: null }, over] },
    'GET /v1/alerts': {
      alerts: [alert('a', { rule: 'component_down', state: 'resolved', resolved_at: AT })],
      next_cursor: null,
    },
  })
  const text = page.text()
  assert.is(text.split('No core').length - 1, 1, text)
  assert.match(text, '2 min')
  assert.match(text, '13 phones were off.')
  assert.not.match(text, 'A part is down')
})

alerts('says that receivers are notified only where one was', async () => {
  const receivers = { 'GET /v1/alerts/receivers': { enabled: true, receivers: [receiver('duty')] } }
  const untold = await open_([alert('a', { told: false })], receivers)
  assert.match(untold.text(), 'no receiver was notified')
  const told = await open_([alert('a', { told: true })], receivers)
  assert.match(told.text(), 'receivers notified')
})

alerts('says one fact of a SIM once, by its label, as grave as it is', async () => {
  const [subject, label] = ['f495cde24c9d', 'Anna']
  const used = (share: number) => ({
    subject,
    label,
    message: `SIM ${subject} has used ${share} % of its quota`,
  })
  const page = await open_([
    alert('a', { ...used(80), severity: 'info' }),
    alert('b', used(123)),
    alert('c', { subject: 'aaaaaaaaaaaa', message: 'SIM aaaaaaaaaaaa has used 81 % of its quota' }),
  ])
  const said = page
    .text()
    .split('\n')
    .filter((line) => line.includes('of its quota'))
  assert.equal(said, ['Anna has used 123 % of its quota', 'SIM aaaaaaaaaaaa has used 81 % of its quota'])
})

alerts('says that all is well only when it knows what was looked at', async () => {
  const well = await open_([], { 'GET /v1/status': { components: [{}, {}], incidents: [] } })
  assert.match(well.text(), /Checked 2 things at .*: all is well/)
  const unknown = await open_([], { 'GET /v1/status': new Refusal(403, 'forbidden', 'no') })
  assert.not.match(unknown.text(), 'all is well')
})

alerts('acknowledges once, and silences until what was chosen; both are for operators', async () => {
  const page = await open_([alert('a')], { 'POST /v1/alerts/a/ack': {}, 'POST /v1/alerts/a/silence': {} })
  await page.press('Acknowledge')
  for (const [choice, hours] of [
    ['hour', 1],
    ['shift', 8],
    ['day', 24],
    ['week', 168],
  ] as const) {
    await page.press('Silence alert')
    await page.put('How long', choice)
    const before = Date.now()
    await page.press('Silence alert')
    const [[, body] = []] = page.changes().slice(-1)
    const lasts = Date.parse((body as { until: string }).until) - before
    assert.ok(Math.abs(lasts - hours * 3_600_000) < 10_000, `${choice}: ${lasts} ms`)
  }
  await page.press('Silence alert')
  await page.put('How long', 'until')
  assert.ok(page.isDisabled('Silence alert'), 'until when?')
  await page.put('Until', '2027-06-01T12:30')
  await page.press('Silence alert')
  const until = new Date(2027, 5, 1, 12, 30).toISOString()
  assert.equal(page.changes(), [['POST /v1/alerts/a/silence', { until }]])
  await page.press('Undo Ctrl Z')
  assert.equal(page.changes(), [['POST /v1/alerts/a/silence', { until: null }]])
  const viewer = await open_([alert('a')], {}, ['viewer'])
  assert.not(viewer.buttons().some((name) => /Silence|Acknowledge/.test(name)))
})

alerts(
  'offers what is left to do: no second acknowledgement, and the end of a silence that goes on',
  async () => {
    const hour = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString()
    for (const [more, offered] of [
      [{}, ['Silence alert', 'Acknowledge']],
      [{ acked_at: AT, acked_by: '36e44794-b7dc-406b-a04a-0446eb398b73/night' }, ['Silence alert']],
      [{ silenced_until: hour(1) }, ['End the silence', 'Acknowledge']],
      [{ silenced_until: hour(-1) }, ['Silence alert', 'Acknowledge']],
    ] as const) {
      const page = await open_([alert('a', more)])
      const there = page.buttons().filter((name) => /ilence|Acknowledge/.test(name))
      assert.equal(there, offered, JSON.stringify(more))
      assert.not.match(page.text(), '36e44794')
    }
  },
)

alerts(
  'names what an alert is about: a SIM by its label, a part by its name, and everything else together',
  async () => {
    const all = [
      alert('a', { severity: 'critical', label: 'village 07', subject: '0123456789ab' }),
      alert('b', { subject: '*' }),
      alert('c', { subject: 'nodes.disk' }),
      alert('d', { subject: 'of.nobody', severity: 'info', value: 12, threshold: 10 }),
    ]
    const page = await open_(all)
    const lines = page.text().split('\n')
    const about = lines.flatMap((line, at) => (line === 'About' ? [lines[at + 1]] : []))
    assert.equal(about, ['village 07', 'all others', 'Disk', 'of.nobody'])
    assert.match(page.text(), '12, the limit is 10')
  },
)

const one = (more: object) => ({
  'GET /v1/alerts/receivers': { enabled: true, receivers: [receiver('duty', more)] },
})

alerts('says of each receiver whether it takes what it is sent, and why not', async () => {
  for (const [more, says] of [
    [{}, 'No message is waiting'],
    [{ waiting: 2, last_error: 'connection refused' }, 'connection refused'],
    [{ parked: 3 }, 'Send these again'],
  ] as const) {
    const page = await shown('receivers', one(more))
    assert.is(
      page.text('duty').includes('No message is waiting'),
      Object.keys(more).length === 0,
      JSON.stringify(more),
    )
    assert.match(page.text('duty'), says)
  }
})

alerts('changes and removes only what was set here, and only for an admin', async () => {
  for (const [source, roles, offered] of [
    ['store', undefined, ['Remove', 'Change', 'Send test message']],
    ['file', undefined, ['Send test message']],
    ['store', ['viewer', 'operator'], ['Send test message']],
    ['store', ['viewer'], []],
  ] as const) {
    const page = await shown('receivers', one({ source }), roles)
    assert.equal(page.buttons('duty'), offered, `${source} ${roles}`)
  }
})

alerts('says what a receiver answered to a test, and sends again what it had not taken', async () => {
  const page = await shown('receivers', {
    ...one({ parked: 3 }),
    'POST /v1/alerts/receivers/duty/test': { delivered: false, error: 'HTTP 403', resent: 0 },
  })
  await page.press('Send test message')
  assert.match(page.text('duty'), 'HTTP 403')
  page.answer({ 'POST /v1/alerts/receivers/duty/test': { delivered: true, error: null, resent: 3 } })
  await page.press('Send these again')
  assert.not.match(page.text('duty'), 'HTTP 403')
  assert.equal(
    page.changes().map(([, body]) => body),
    [{ resend: false }, { resend: true }],
  )
})

alerts('adds a receiver of each kind with what was filled in, under a name that nobody has', async () => {
  const common = { min_severity: 'warning', resolved: true, allow_private: false, link: 'http://box.example' }
  for (const [kind, typed, sent] of [
    ['ntfy', { Topic: 'night' }, { server: 'https://ntfy.sh', topic: 'night' }],
    ['telegram', { 'Access token': 't', Chat: '-5' }, { token: 't', chat: '-5' }],
    ['slack', { 'Address (URL)': ' https://hooks.example/x ' }, { url: 'https://hooks.example/x' }],
  ] as const) {
    const taken = receiver(kind)
    const page = await shown('receivers', {
      'GET /v1/alerts/receivers': { enabled: true, receivers: [taken] },
      'POST /v1/alerts/receivers': receiver(`${kind}-2`, { kind }),
    })
    await page.press('Add receiver')
    await page.put('Kind', kind)
    for (const [label, value] of Object.entries(typed)) await page.put(label, value)
    await page.press('Add receiver')
    assert.equal(page.changes(), [
      ['POST /v1/alerts/receivers', { name: `${kind}-2`, kind, ...common, ...sent }],
    ])
    assert.match(page.dialog() ?? '', `${kind}-2`)
  }
})

alerts(
  'keeps of a receiver what its form does not ask for, and a secret that is not typed anew',
  async () => {
    const settings = { server: 'https://ntfy.example', priority: 5 }
    const page = await shown('receivers', {
      ...one({ settings }),
      'PUT /v1/alerts/receivers/duty': receiver('duty'),
    })
    await page.press('Change')
    assert.is(page.field('Server').value, 'https://ntfy.example')
    assert.not(page.field('Topic').required, 'the service has one')
    await page.put('Send', 'critical')
    await page.press('Save')
    const [[, body] = []] = page.changes()
    assert.equal(body, {
      ...{ priority: 5, min_severity: 'critical', resolved: true, allow_private: false },
      ...{ link: 'http://box.example', server: 'https://ntfy.example' },
    })
  },
)

alerts('draws a secret for each webhook that is added, and never the same one', async () => {
  const drawn = new Set<string>()
  for (let n = 0; n < 3; n += 1) {
    const page = await shown('receivers', {})
    await page.press('Add receiver')
    await page.put('Kind', 'webhook')
    const secret = page.field('Secret for the signature').value
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
    drawn.add(secret)
  }
  assert.is(drawn.size, 3)
})

alerts.run()
