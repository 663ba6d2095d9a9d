import { assert, suite } from '@steeple/testkit'
import { type Answers, inBrowser, open, Refusal } from './support/page.ts'

/** The overview while something is wrong, and when it is over. */
const home = suite('console/home')
inBrowser(home)

const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString()
const part = (name: string, kind: string, status = 'ok', detail = '') => ({
  ...{ name, kind, status, detail, since: ago(90), last_ok_at: null },
})
const core = {
  ...{ id: 'no_core', kind: 'no_core', severity: 'critical', title: 'No core', detail: 'mme is down' },
  ...{ component: 'driver-core-a.daemons', effects: ['collectors.mme'], phones_off: 13, box: null },
  ...{ advice: '', impact: '', runbook: '/docs/x', since: ago(90) },
}
const over = (untilS: number) => ({
  ...{ id: 'no_core', kind: 'no_core', severity: 'critical', title: 'No core', box: null, phones_off: 13 },
  ...{ component: 'driver-core-a.daemons', since: ago(untilS + 120), until: ago(untilS) },
})
const STATUS = {
  ...{ core: 'core_a', plmn: '00101', tac: 7, apns: ['internet'], node_id: 'n1', mode: 'rf', version: '1' },
  ...{ enb: { known: true, connected: true, other_networks: [] }, ue: { attached: 13 }, tx: { armed: true } },
  ...{ breakout: { mode: 'off', peer_count: 0 }, foreign_subscribers: 0, uptime_s: 100_000, internet: true },
  ...{ components: [part('nodes.internet', 'feature', 'ok', 'the DNS servers answered')], incidents: [] },
}
const TX = {
  ...{ armed: true, transmitter: 'on', profile: 'mast' },
  gates: { country_code: 'set', license_ack: 'set', allow_list: 'set' },
}

const { tx } = await import('../src/app/transmitter.tsx')

function shown(
  status: object,
  past: readonly object[],
  sessions: readonly object[] = [],
  more: Answers = {},
) {
  tx.value = TX as never
  return open('/', {
    'GET /v1/status': { ...STATUS, ...status },
    'GET /v1/incidents': { incidents: past },
    'GET /v1/sessions': { sessions, next_cursor: null },
    'GET /v1/sims': { sims: [], next_cursor: null },
    'GET /v1/audit': { entries: [], next_cursor: null },
    ...more,
  })
}
const on = (count: number) => Array.from({ length: count }, (_, n) => ({ imsi_sha256_12: `00000000000${n}` }))

home(
  'says of radio and phones only what is known while the core is away, and names the outage first',
  async () => {
    const components = [
      part('driver-core-a.daemons', 'core', 'down', 'mme is down'),
      part('collectors.mme', 'collector', 'degraded', 'not counted for 8 s: mme is down'),
    ]
    const page = await shown({ incidents: [core], components }, [])
    assert.match(page.text('Radio and core'), /Not known since/)
    assert.not.match(page.text('Radio and core'), /A radio is connected/)
    // What e2e reads off the page is found by this.
    assert.is(document.querySelectorAll('[aria-labelledby="needs"] .home-list').length, 1)
    const text = page.text()
    assert.ok(text.indexOf('To do now') < text.indexOf('The box is on the air.'), 'what is wrong comes first')
    assert.is(text.split('Outage: No core').length - 1, 1, 'and is said once')
    assert.not.match(text, 'Country: set')
    // The cause is said once, whatever follows from it.
    assert.is(text.split('mme is down').length - 1, 1, text)
    assert.match(text, 'not counted for 8 s')
  },
)

home('says nothing of how many phones are online before it is known', async () => {
  const page = await shown({}, [], [], {
    'GET /v1/sessions': new Refusal(503, 'not_ready'),
    'GET /v1/sims': new Refusal(503, 'not_ready'),
  })
  assert.match(page.text('Subscribers'), /Online\n–[\s\S]*Suspended\n–/)
  assert.not.match(page.text('Subscribers'), 'No phone is online')
  assert.match((await shown({}, [])).text('Subscribers'), /Online\n0[\s\S]*No phone is online/)
})

home('says of a network with base stations of others that this box drives no radio', async () => {
  const off = { ...TX, armed: false, transmitter: 'off', gates: { ...TX.gates, country_code: 'missing' } }
  const said = async (connected: boolean, armed = false): Promise<string> => {
    const page = await shown({ enb: { known: true, connected, other_networks: [] } }, [])
    tx.value = { ...off, armed, gates: armed ? TX.gates : off.gates } as never
    await page.settled()
    return page.text()
  }
  const others = await said(true)
  assert.match(others, 'This box drives no radio. A base station of others is connected to the core.')
  assert.not.match(others, 'The box is not on the air')
  assert.match(await said(false), 'The box is not on the air')
  assert.match(await said(true, true), 'its transmitter is off. A base station of others')
  assert.match(await said(false, true), 'its transmitter is off. Phones have no network.')
})

home('says for some minutes that an outage is over, how long it lasted, and who is back', async () => {
  const recovering = await shown({}, [over(20)], on(4))
  assert.match(recovering.text('To do now'), 'Over: No core, lasted 2 min.')
  assert.match(recovering.text('To do now'), 'Recovering: 4 of 13 phones are on again.')
  const none = await shown({ enb: { known: true, connected: false, other_networks: [] } }, [over(20)])
  assert.match(none.text('Subscribers'), 'The phones are coming back.')
  assert.match(none.text('Radio and core'), 'The radio is coming back.')
  const back = await shown({}, [over(20)], on(9))
  assert.match(back.text('Recent events'), 'No core, lasted 2 min')
  const later = await shown({}, [over(400)])
  assert.match(later.text('To do now'), '13 phones were off.')
  assert.match(later.text('Subscribers'), 'No phone is online.')
  const old = await shown({}, [over(4_000)])
  assert.not.match(old.text('To do now'), 'Over:')
})

home('has one truth about the internet', async () => {
  const well = await shown({}, [])
  assert.match(well.text('Internet and other boxes'), 'Internet: works.')
  const gone = part('nodes.internet', 'feature', 'down', 'no default route')
  const away = await shown({ components: [gone], internet: false }, [])
  for (const said of ['Internet: gone.', 'no default route'])
    assert.match(away.text('Internet and other boxes'), said)
  const unknown = await shown({ internet: null }, [])
  assert.match(unknown.text('Internet and other boxes'), 'Internet: none was seen yet.')
})

home('does not say of the radio what nobody knows, nor twice', async () => {
  const enb = { known: false, connected: false, other_networks: [] }
  const page = await shown({ enb, ue: { attached: null } }, [], on(15))
  assert.match(page.text('Radio and core'), 'It is not known whether a radio is connected.')
  assert.not.match(page.text('Radio and core'), 'how many phones')
})

home('offers the country to who may set it, and tells it the others', async () => {
  tx.value = { ...TX, profiles: [] } as never
  const answers = {
    'GET /v1/tx/profiles': { profiles: [] },
    'GET /v1/spectrum/ranges': { country: 'DE', ranges: [] },
    'GET /v1/status': STATUS,
    'GET /v1/health': { components: [], incidents: [] },
  }
  const viewer = await open('/radio', answers, { roles: ['viewer'] })
  assert.match(viewer.text('Transmission'), 'It is set to DE.')
  assert.not.match(viewer.text(), 'Set the country')
  assert.match((await open('/radio', answers)).text('Transmission'), 'Now DE. Set the country.')
})

home.run()
