import { assert, suite } from '@steeple/testkit'
import { type Answers, inBrowser, open } from './support/page.ts'

const { isAbout } = await import('../src/app/incidents.tsx')

/** An outage says its own cause, where somebody looks first, with the way to mend it. */
const incidents = suite('console/incidents')
inBrowser(incidents)

const SINCE = '2026-11-29T12:00:00.000Z'
const part = (name: string, kind: string, status: string, detail: string) => ({
  ...{ name, kind, status, detail, required: true, since: SINCE, last_ok_at: null, box: null },
})
const incidentOf = (kind: string, { name, detail }: ReturnType<typeof part>) => ({
  ...{ id: kind, kind, severity: 'critical', title: kind, detail, component: name, box: null, effects: [] },
  ...{ impact: 'impact', phones_off: null, advice: 'advice', runbook: '/docs/how-to/on-duty', since: SINCE },
})
const OTHER = part(
  'driver-core-a.daemons',
  'core',
  'degraded',
  '0 base stations; 1 base station of another network (999-99)',
)
const REFUSED = part(
  'driver-ran.ran',
  'ran',
  'down',
  'the radio sends at 2680 MHz where 2675 MHz is permitted',
)
const enb = { known: true, connected: true, s1_setup: true, mode: 'lte', other_networks: ['999-99'] }
const status = (kind: string, component: ReturnType<typeof part>): Answers => ({
  'GET /v1/status': {
    ...{ enb, ue: { attached: 0 }, breakout: { mode: 'off' }, foreign_subscribers: 0, uptime_s: 9 },
    ...{ components: [component], incidents: [incidentOf(kind, component)] },
  },
  'GET /v1/health': { components: [component], incidents: [] },
  'GET /v1/tx/profiles': { profiles: [] },
  'GET /v1/spectrum/ranges': { country: 'DE', ranges: [] },
})

incidents('names the network that a core announces, and both ways to mend it', async () => {
  const page = await open('/', status('other_network', OTHER))
  const needs = page.text('To do now')
  assert.match(needs, /The core announces another network[\s\S]*find no network[\s\S]*999-99/)
  assert.not.match(needs, 'No core')
  assert.match(page.text('Radio and core'), 'A base station is connected that announces 999-99.')
  assert.match(needs, /Open Core[\s\S]*Set the network number/)
})

incidents('says on the page of the radio why an armed one sends nothing', async () => {
  const page = await open('/radio', status('radio_refused', REFUSED))
  assert.match(
    page.text(),
    /The radio is armed, but sends nothing[\s\S]*2680 MHz where 2675 MHz is permitted[\s\S]*Radio health/,
  )
  const core = await open('/radio', status('other_network', OTHER))
  assert.not.match(core.text(), 'The core announces another network')
})

incidents('names the change of the core that an outage followed on, before all advice', async () => {
  const given = status('no_core', OTHER)
  const { incidents: all } = given['GET /v1/status'] as { incidents: readonly object[] }
  const told = async (files: readonly string[]): Promise<string> => {
    const change = { files, restarted: ['amf', 'smf'], at: SINCE }
    const changed = {
      ...(given['GET /v1/status'] as object),
      incidents: all.map((one) => ({ ...one, change })),
    }
    return (await open('/', { ...given, 'GET /v1/status': changed })).text('To do now')
  }
  const words = await told(['amf.yaml'])
  assert.match(words, /after the box changed amf\.yaml and restarted amf, smf\.[\s\S]*Start the core again/)
  const bare = await told([])
  assert.match(bare, /after the box restarted amf, smf\.[\s\S]*Start the core again/)
  assert.not.match(bare, 'undo', 'nothing was changed that could be undone')
})

incidents('knows an alert that says what an outage says, by its component and what follows', () => {
  const full = { component: 'nodes.disk', effects: ['store', 'driver-hss.hss'] }
  assert.equal(
    ['disk', 'nodes.disk', 'store', 'hss', 'sk', 'clock', '0123456789ab'].map((one) => isAbout(full, one)),
    [true, true, true, true, false, false, false],
  )
})

incidents.run()
